"""Scores per label and bin."""
