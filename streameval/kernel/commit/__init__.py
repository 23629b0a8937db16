"""Changes of several tables that happen at once."""
