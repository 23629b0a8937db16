"""The examples of a window."""
