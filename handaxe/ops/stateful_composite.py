"""Base class for components made of named parts: its state is the state of the stateful parts."""

from collections.abc import Mapping
from typing import Any

from handaxe.core.protocols import Stateful

__all__ = ["StatefulComposite", "has_state"]


class StatefulComposite:
    """Component made of named parts; implements `Stateful` by collecting the state of stateful parts by name.

    A subclass implements `parts`. A subclass with state beyond its parts extends both methods of the state, under keys
    that no part has.

    Example:
        parts() {"a": a stateful credit, "b": a stateless one}: state_dict() is {"a": ...}
        def state_dict(self): return {"least": dict(self.least)} | super().state_dict()
    """

    def parts(self) -> Mapping[str, object]:
        """Return the parts by name; names are equal in every run."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Collect the state of each stateful part."""
        return {name: part.state_dict() for name, part in self.parts().items() if isinstance(part, Stateful)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore each stateful part from a `state_dict`."""
        for name, part in self.parts().items():
            if isinstance(part, Stateful):
                part.load_state_dict(state[name])


def has_state(part: object) -> bool:
    """Test whether a part is stateful; a plain composite is stateful if a part is."""
    if isinstance(part, StatefulComposite) and type(part).state_dict is StatefulComposite.state_dict:
        return any(has_state(inner) for inner in part.parts().values())
    return isinstance(part, Stateful)
