"""What shards have counted, delivered at least once, in any order, from anywhere."""

from streameval.ledger.book import Ledger, Version

__all__ = ["Ledger", "Version"]
