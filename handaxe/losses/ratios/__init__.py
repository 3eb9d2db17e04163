"""Ratios of the trained policy to the sampling policy, by token, turn or sequence."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
