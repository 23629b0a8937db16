"""Tables of counts to bytes and back."""
