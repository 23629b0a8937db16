"""Tables of counts as bytes."""
