"""Worlds: tasks, the environment they are tried in, and what is right there. One world a file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
