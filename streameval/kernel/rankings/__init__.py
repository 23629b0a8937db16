"""Counts of examples whose labels are ranked by their scores."""
