"""Files of every kind, written by earlier versions; every later version must read them."""
