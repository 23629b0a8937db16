"""Metrics: pure functions of states."""
