"""Adjustments of single tokens' losses by how advantage and log-prob move together."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
