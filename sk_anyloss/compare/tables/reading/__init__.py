"""Reading files of tables: delimited text and its encoding, and other formats."""
