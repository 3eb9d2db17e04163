"""Deferred import of modules that take seconds, such as torch: errors of a command line appear before.

    from handaxe.core.deferred import torch

    if TYPE_CHECKING:
        import handaxe.methods.run as runner
    else:
        runner = DeferredModule("handaxe.methods.run")

`lazy_loader.load` puts an unfinished module into sys.modules, where the import of torch inspects it.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["DeferredModule", "torch"]


class DeferredModule(ModuleType):
    """Module imported at the first use of an attribute.

    Args:
        name: full name of the module.
    """

    def __getattr__(self, attribute: str) -> Any:
        """Import the module, and return an attribute of it."""
        return getattr(importlib.import_module(self.__name__), attribute)


if not TYPE_CHECKING:
    torch = DeferredModule("torch")
    """For modules that a method imports: training, losses, stages. Engines and models import torch itself."""
