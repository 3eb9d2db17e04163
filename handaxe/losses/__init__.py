"""Losses, composed of a ratio, a surrogate, a reduction and further terms."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
