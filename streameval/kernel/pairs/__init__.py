"""Pairs of labels that examples have."""
