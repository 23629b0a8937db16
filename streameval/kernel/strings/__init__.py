"""Strings as codes."""
