"""Deferred import of modules that import torch, which takes seconds: errors of a command line appear before.

    if TYPE_CHECKING:
        import handaxe.methods.run as runner
    else:
        runner = DeferredModule("handaxe.methods.run")

`lazy_loader.load` puts an unfinished module into sys.modules, where the import of torch inspects it.
"""

import importlib
from typing import Any

__all__ = ["DeferredModule"]


class DeferredModule:
    """Module imported at the first use of an attribute.

    Args:
        name: full name of the module.
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Import the module, and return an attribute of it."""
        return getattr(importlib.import_module(self._name), attribute)
