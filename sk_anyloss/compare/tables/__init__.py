"""Reading and checking tables: files, labels, features, and the order in time."""
