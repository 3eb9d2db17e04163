"""Lets one reward through only where another is earned.

Idea: what is worth having only once something else is right does not compete with it.
"""

from collections.abc import Callable, Mapping, Sized
from dataclasses import replace
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.checks import checked, outcome_only
from handaxe.rewards.parts.combined import Combined, Merge

__all__ = ["gate"]

Ask = Literal["all", "passed"]


def gate(
    *,
    on: Reward,
    then: Reward,
    otherwise: Reward | None = None,
    above: float = 0.0,
    mark_eligible: bool = False,
    ask: Ask = "all",
    questions: Callable[[Trajectory], Sized] | None = None,
) -> Reward:
    """Let one reward through only where another is earned.

        open_i    = outcome_on,i > above
        outcome_i = outcome_then,i  where open_i,  else outcome_otherwise,i (0 without it);   turns alike

    Args:
        on: what decides; its own value is not part of the result.
        then: the reward of trajectories that pass.
        otherwise: the reward of those that do not.
        above: the gate opens strictly above this.
        mark_eligible: also set Scores.eligible to open_i, for credits that count only those in their statistics.
        ask: "all" asks `then` about every sibling; "passed" about those that passed alone, as a group of their own, and
            not at all where none did: for a costly judge that does not compare siblings. The others hold 0 in its
            channels, and what it says of who is eligible holds among those it was asked about.
        questions: what `then` asks of a sibling, such as the items of `rubric_points`: their number, 0 for siblings
            that it was not asked about, is the channel "asked", so that what a spared judge saves can be counted.

    Returns:
        A reward with the channels "on", "then" and "otherwise", each over all siblings.

    Raises:
        InputError: another word for ask, an `on` with per-turn values.

    Example:
        on (1, 0, 1), then (0.3, 0.9, 0.5), otherwise (-1, -2, -3)  ->  outcome (0.3, -2, 0.5)
        with ask="passed" the same, and `then` is asked about the first and the third; its channel is (0.3, 0, 0.5)
        with two questions about each sibling "asked" is then (2, 0, 2), and (2, 2, 2) with ask="all"
    """
    if ask not in ("all", "passed"):
        raise InputError(f'a gate asks "all" or those that "passed", not {ask!r}')
    components = {"on": on, "then": then} | ({} if otherwise is None else {"otherwise": otherwise})

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        passed = outcome_only(parts["on"], "on").outcome > above
        yes, no = parts["then"], parts.get("otherwise", Scores(np.zeros(len(group))))
        turns = None
        if yes.turns is not None or no.turns is not None:
            chosen = [(yes if passed[i] else no).turns for i in range(len(group))]
            turns = tuple(
                np.zeros(len(one.turns)) if t is None else t[i] for i, (one, t) in enumerate(zip(group, chosen))
            )
        asked = passed if ask == "passed" else np.ones(len(group), bool)
        return Scores(
            np.where(passed, yes.outcome, no.outcome),
            turns=turns,
            channels={} if questions is None else {"asked": _counted(questions, group) * asked},
            eligible=passed if mark_eligible else None,
        )

    return Combined(components, merge) if ask == "all" else _Sparing(components, merge, above)


def _counted(questions: Callable[[Trajectory], Sized], group: Group) -> np.ndarray:
    return np.array([len(questions(one)) for one in group], np.float64)


class _Sparing(Combined):
    """A gate that asks `then` only about those that pass."""

    def __init__(self, components: Mapping[str, Reward], merge: Merge, above: float):
        super().__init__(components, merge)
        self._above = above

    def _ask(self, group: Group) -> dict[str, Scores]:
        said = {
            name: checked(self._components[name](group), group, name) for name in self._components if name != "then"
        }
        passed = np.flatnonzero(outcome_only(said["on"], "on").outcome > self._above)
        some = replace(group, trajectories=tuple(group[i] for i in passed))
        then = checked(self._components["then"](some), some, "then") if len(some) else Scores(np.zeros(0))
        # In the order of the components, which is that of the channels.
        said["then"] = _spread(group, passed, then)
        return {name: said[name] for name in self._components}


def _spread(group: Group, passed: np.ndarray, then: Scores) -> Scores:
    """What was said of some siblings, over all of them, 0 for those that were not asked about."""

    def wide(values: np.ndarray) -> np.ndarray:
        out = np.zeros(len(group))
        out[passed] = values
        return out

    def ragged(values: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        own = dict(zip(passed.tolist(), values, strict=True))
        return tuple(own.get(i, np.zeros(len(one.turns))) for i, one in enumerate(group))

    return Scores(
        wide(then.outcome),
        turns=None if then.turns is None else ragged(then.turns),
        channels={name: wide(values) for name, values in then.channels.items()},
        turn_channels={name: ragged(values) for name, values in then.turn_channels.items()},
        eligible=None if then.eligible is None else _eligible(group, passed, then.eligible),
    )


def _eligible(group: Group, passed: np.ndarray, eligible: np.ndarray) -> np.ndarray:
    out = np.ones(len(group), bool)
    out[passed] = eligible
    return out
