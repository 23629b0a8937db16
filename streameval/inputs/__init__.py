"""Every accepted form of examples, checked once and turned into batches. Nothing below this package sees user data."""
