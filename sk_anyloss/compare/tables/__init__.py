"""Tables to compare on: files, labels, columns, and the order in time."""
