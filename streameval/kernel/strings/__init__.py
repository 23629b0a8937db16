"""Strings to integer codes, and mappings of labels to columns and scores."""
