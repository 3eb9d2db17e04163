"""Grants a reward only if another is earned.

Idea: a secondary reward does not compete with correctness.
"""

from collections.abc import Callable, Mapping, Sized
from dataclasses import replace
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.checks import outcome_only, validate_scores
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
    """Grant a reward only if another is earned.

        open_i    = outcome_on,i > above
        outcome_i = outcome_then,i  if open_i,  else outcome_otherwise,i (0 without it);   turns likewise

    Args:
        on: the condition; its value is not part of the result.
        then: the reward of rollouts that pass.
        otherwise: the reward of the others.
        above: the gate opens strictly above this.
        mark_eligible: also set Scores.eligible to open_i, for credits with statistics over eligible siblings.
        ask: "all" calls `then` with every sibling. "passed" calls it with the rollouts that passed as a group, and not
            at all without one: for a costly judge that does not compare siblings. The others have 0 in its channels,
            and its eligibility applies to the rollouts it scored.
        questions: what `then` checks of a sibling, such as the items of `rubric_points`. Their number is the channel
            "asked", 0 for siblings that `then` did not score, so that a run records the cost of a judge.

    Returns:
        A reward with the channels "on", "then" and "otherwise", each over all siblings.

    Raises:
        InputError: another word for ask, an `on` with per-turn values.

    Example:
        on (1, 0, 1), then (0.3, 0.9, 0.5), otherwise (-1, -2, -3)  ->  outcome (0.3, -2, 0.5)
        with ask="passed" the same; `then` scores the first and the third, and its channel is (0.3, 0, 0.5)
        with two questions a sibling, "asked" is (2, 0, 2), and (2, 2, 2) with ask="all"
    """
    if ask not in ("all", "passed"):
        raise InputError(f'gate takes ask "all" or "passed", not {ask!r}')
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
    """A gate with calls of `then` for passing rollouts only."""

    def __init__(self, components: Mapping[str, Reward], merge: Merge, above: float):
        super().__init__(components, merge)
        self._above = above

    def _ask(self, group: Group) -> dict[str, Scores]:
        scores = {
            name: validate_scores(self._components[name](group), group, name)
            for name in self._components
            if name != "then"
        }
        passed = np.flatnonzero(outcome_only(scores["on"], "on").outcome > self._above)
        some = replace(group, trajectories=tuple(group[int(i)] for i in passed))
        then = validate_scores(self._components["then"](some), some, "then") if len(some) else Scores(np.zeros(0))
        # Channels come in the order of components.
        scores["then"] = _spread(group, passed, then)
        return {name: scores[name] for name in self._components}


def _spread(group: Group, passed: np.ndarray, then: Scores) -> Scores:
    """Scores of some siblings as scores of all, 0 for the others."""

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
