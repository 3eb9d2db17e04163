"""Credit: (Group, Scores) -> Advantages. Who gets how much of what was scored."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
