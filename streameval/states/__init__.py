"""States: what is remembered of a stream."""
