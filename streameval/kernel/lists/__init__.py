"""Lists of columns, and the rows of groups."""
