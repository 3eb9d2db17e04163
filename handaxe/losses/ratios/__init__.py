"""Ratios: the policy now against the policy that sampled, by token or by sequence."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
