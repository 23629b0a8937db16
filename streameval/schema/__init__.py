"""What the layers pass to each other: configurations, labels, batches of examples, and their text."""
