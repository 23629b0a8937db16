"""Pairs of labels."""
