"""Judges: Group -> scores, by parameters of their own. Rewards and rollouts are given one as an argument."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
