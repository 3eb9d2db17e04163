"""Search: trees of turns that are grown where they seem to be worth it, and steps chosen by a judge."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
