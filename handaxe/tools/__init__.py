"""Tools: typed functions with a docstring that a policy can call. One tool per file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
