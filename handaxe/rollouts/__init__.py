"""Rollouts: strategies that play a task, as generators without I/O; and the driver that carries them out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
