"""Results whose behaviour fingerprint differs from the present one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.commands.claim_sides import claim_sides
from handaxe.core.errors import HandaxeError
from handaxe.methods.fingerprint import Fingerprinter, changed_parts
from handaxe.view.papers import Entry

__all__ = ["ResultState", "check_results"]


class ResultState(NamedTuple):
    """State of a result.

    changed     side -> parts that differ, "arguments" or parts of the fingerprint; {} if nothing does
    bare        the result has no fingerprint
    reason      why the result could not be checked, such as a missing extra; "" if it was
    """

    method: str
    changed: dict[str, list[str]]
    bare: bool = False
    reason: str = ""

    @property
    def stale(self) -> bool:
        """True if a side differs, or the result has no fingerprint."""
        return bool(self.changed) or self.bare

    def describe(self) -> str:
        """One line, such as "otc: scores, advantages of otc; scores of grpo_no_kl"."""
        sides = "; ".join(f"{', '.join(parts)} of {name}" for name, parts in self.changed.items())
        return f"{self.method}: {self.reason or sides}"


def check_results(entries: Sequence[Entry], fingerprinter: Fingerprinter | None = None) -> list[ResultState]:
    """Compare the fingerprints of results with the present ones. Entries without a result are left out.

    Args:
        entries: methods with results.
        fingerprinter: keeps rollouts of worlds between calls; None for a new one.
    """
    made = fingerprinter or Fingerprinter()
    return [_state(one, made) for one in entries if one.result is not None]


def _state(one: Entry, made: Fingerprinter) -> ResultState:
    assert one.result is not None
    recorded, name = one.result.fingerprints, one.method.name
    if not recorded:
        return ResultState(name, {}, bare=True)
    try:
        ours, baselines = claim_sides(name)
        sides = {side.name: side for side in (ours, *baselines.values())}
        before = {name: one.result.arguments, **one.result.baselines}
        changed = {}
        for side in sides.values():
            if side.name not in recorded:
                changed[side.name] = ["no fingerprint"]
                continue
            parts = ["arguments"] if _arguments_differ(before[side.name], side.arguments()) else []
            parts += changed_parts(recorded[side.name], made.fingerprint(side.spec))
            if parts:
                changed[side.name] = parts
        return ResultState(name, changed)
    except HandaxeError as error:
        return ResultState(name, {}, reason=str(error))


def _arguments_differ(before: Mapping[str, Any], present: Mapping[str, Any]) -> bool:
    """A shared option has another value. An option that is new since the result is off by default, and another number
    of held-out tasks or samples changes the interval alone; the page of the result shows both.
    """
    return any(before[name] != present[name] for name in (before.keys() & present.keys()) - {"held_out", "samples"})
