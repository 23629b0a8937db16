"""Changes of more than one table, which happen at once."""
