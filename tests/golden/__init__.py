"""Files of every kind as earlier versions wrote them; every later version must read them."""
