"""Losses of reward models on pairs, lists and labels: scores of a head, read where tokens train."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
