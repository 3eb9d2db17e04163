"""A room is a package that offers one thing a file: `credit.group_norm` is the factory in `credit/group_norm.py`.

It is imported when it is first asked for and found by the file's name, so that nothing is listed anywhere. Importing
`handaxe.credit.group_norm` by its full path makes the import system bind that module as an attribute of the package;
the room keeps what the module defines under its own name instead, whichever way it was imported first.
"""

import difflib
import importlib
import importlib.util
import pkgutil
import sys
from types import ModuleType
from typing import Any

__all__ = ["Room", "open_room"]


class Room(ModuleType):
    """The module of a package that is a room; see this module."""

    def __getattr__(self, name: str) -> Any:
        whole = f"{self.__name__}.{name}"
        if name.startswith("_") or importlib.util.find_spec(whole) is None:
            close = difflib.get_close_matches(name, dir(self), n=2, cutoff=0.6)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise AttributeError(f"{self.__name__} has no {name!r}{hint}", name=name, obj=self)
        importlib.import_module(whole)
        return self.__dict__[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}":
            value = vars(value).get(name, value)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        files = (module.name for module in pkgutil.iter_modules(self.__path__))
        return sorted({*super().__dir__(), *(name for name in files if not name.startswith("_"))})


def open_room(name: str) -> None:
    """Make the package of this name a room. A package calls it in its `__init__`, as open_room(__name__)."""
    package = sys.modules[name]
    package.__class__ = Room
    for attribute, value in list(vars(package).items()):  # what was imported before
        setattr(package, attribute, value)
