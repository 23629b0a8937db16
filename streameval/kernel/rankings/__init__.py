"""Labels ranked by their scores."""
