"""handaxe trains language models to use tools, with reinforcement learning.

    import handaxe as hx
    from handaxe import credit, losses, rewards, rollouts, tools, worlds

`__init__.pyi` lists the public names. Each is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.2.0"
