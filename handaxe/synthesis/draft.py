"""Drafts: immutable JSON values, the input and output of steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from handaxe.core.errors import InputError

__all__ = ["SynthesisDraft", "digest_of", "make_draft"]

NOTHING: Mapping[str, Any] = MappingProxyType({})


class SynthesisDraft(NamedTuple):
    """A value on the way to a task. Made by `make_draft`.

    id        digest of kind, payload and parents: equal drafts are one draft
    kind      such as "seed", "task", "question" or "tool"
    payload   JSON
    parents   ids of the drafts that it was made of
    notes     JSON that steps measured, such as a pass rate; no part of the id
    """

    id: str
    kind: str
    payload: Mapping[str, Any]
    parents: tuple[str, ...] = ()
    notes: Mapping[str, Any] = NOTHING

    def noted(self, notes: Mapping[str, Any]) -> SynthesisDraft:
        """The draft with further notes and the same id."""
        return self._replace(notes={**self.notes, **notes})

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON, for `SynthesisDraft.from_json`."""
        return {**self._asdict(), "payload": dict(self.payload), "parents": [*self.parents], "notes": dict(self.notes)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> SynthesisDraft:
        """Read the fields of `as_json`."""
        return cls(found["id"], found["kind"], found["payload"], tuple(found["parents"]), found["notes"])


def make_draft(
    kind: str, payload: Mapping[str, Any], *, parents: Sequence[str] = (), notes: Mapping[str, Any] = NOTHING
) -> SynthesisDraft:
    """Make a draft with an id by content.

    Args:
        kind, payload, parents, notes: see `SynthesisDraft`.

    Raises:
        InputError: the payload is no JSON.

    Example:
        make_draft("seed", {"number": 0}).id == make_draft("seed", {"number": 0}).id
    """
    return SynthesisDraft(digest_of(kind, payload, list(parents)), kind, payload, tuple(parents), dict(notes))


def digest_of(*parts: Any) -> str:
    """Hash JSON values to 32 hexadecimal digits; the order of keys has no effect.

    Raises:
        InputError: a part is no JSON, or holds a number that is not finite.
    """
    try:
        text = json.dumps(parts, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"a draft holds a value that JSON cannot store: {error}") from error
    return hashlib.sha256(text.encode()).hexdigest()[:32]
