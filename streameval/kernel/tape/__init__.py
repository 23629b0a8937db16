"""The tape of a window: its examples in order, which it takes back."""
