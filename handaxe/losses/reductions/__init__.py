"""Reductions: from the losses of tokens to one number, and what it is divided by."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
