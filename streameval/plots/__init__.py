"""Pictures, drawn with matplotlib (the extra ``plot``); nothing here is imported by the rest of the package."""
