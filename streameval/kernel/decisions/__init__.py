"""Counts of labels and of examples for binary predictions."""
