"""The state of what is made of parts: that of those parts which have one, by their names."""

from collections.abc import Mapping
from typing import Any

from handaxe.core.protocols import Stateful

__all__ = ["Composite", "remembers"]


class Composite:
    """A part of a run that is made of others. Its state is that of its stateful parts, by name; it is Stateful itself.

    A subclass says what it is made of. One that remembers something besides adds it to what these two methods do, under
    keys that no part has.

    Example:
        parts() {"a": a credit that remembers, "b": one that does not}: state_dict() is {"a": ...}
        def state_dict(self): return {"least": dict(self.least)} | super().state_dict()
    """

    def parts(self) -> Mapping[str, object]:
        """What it is made of, by name; names stay the same from run to run."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """The state of each part that has one."""
        return {name: part.state_dict() for name, part in self.parts().items() if isinstance(part, Stateful)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        for name, part in self.parts().items():
            if isinstance(part, Stateful):
                part.load_state_dict(state[name])


def remembers(part: object) -> bool:
    """Whether a part has a state to keep, or, where it is made of others and has none of its own, any of those."""
    if isinstance(part, Composite) and type(part).state_dict is Composite.state_dict:
        return any(remembers(one) for one in part.parts().values())
    return isinstance(part, Stateful)
