"""Says aloud what keeps a run from learning: attempts that cannot be scored, and groups in which none did better."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.errors import UnscoredError
from handaxe.core.records import Scores, Trajectory
from handaxe.training.loop.group_play import Tried
from handaxe.training.record.groups import GroupRecord

__all__ = ["Watch", "check_scored", "failed_share", "why_flat"]

PATIENCE = 3
"""Steps in a row without an advantage before that is said."""
ROOM = 300
"""Most characters that are shown of what a tool or a reward said."""


def check_scored(tried: Sequence[Tried]) -> None:
    """Raise UnscoredError, with the first error, when groups were played and not one attempt could be scored, since
    tools or reward failed. Attempts that were left out for another reason are no error."""
    attempts = [trajectory for one in tried for trajectory in one.group]
    failed = [one for one in attempts if one.ending.kind in NEVER_SCORED]
    if failed and all(one.rated is None for one in tried):
        raise UnscoredError(
            f"none of its {len(attempts)} attempts could be scored; the first ended as {failed[0].ending.kind}: "
            f"{_shortened(failed[0].ending.reason)}"
        )


class Watch:
    """Looks at every step that was done.

    Args:
        say: told each thing once.
    """

    def __init__(self, say: Callable[[str], None]):
        self._say = say
        self._told = set[str]()
        self._flat = list[list[GroupRecord]]()

    def __call__(self, step: int, groups: Sequence[GroupRecord], *, trains: bool) -> None:
        """Look at the groups of a step.

        Args:
            step: counted from 0.
            groups: everything that was played for it.
            trains: whether the policy was to learn from it.
        """
        attempts = [trajectory for one in groups for trajectory in one.group]
        for kind in sorted(NEVER_SCORED - self._told):
            failed = [one for one in attempts if one.ending.kind == kind]
            if failed:
                self._told.add(kind)
                self._say(
                    f"{kind}: {len(failed)} of {len(attempts)} attempts of step {step + 1} could not be scored, and "
                    f"the policy learns from the others alone. The first: {_shortened(failed[0].ending.reason)}"
                )
        rated = [one for one in groups if one.advantages is not None]
        if rated and trains:
            self._flat = [*self._flat, rated] if all(_is_flat(one) for one in rated) else []
        if len(self._flat) >= PATIENCE and "flat" not in self._told:
            self._told.add("flat")
            self._say(
                f"nothing is learned: in {PATIENCE} steps, {step + 2 - PATIENCE} to {step + 1}, every advantage was 0. "
                + why_flat([one for groups in self._flat for one in groups])
            )
        self._flat = self._flat[-PATIENCE:]


def failed_share(groups: Sequence[GroupRecord]) -> dict[str, float]:
    """The share of attempts that ended for no fault of the policy, by way of ending; only what there is."""
    counts = Counter[str](trajectory.ending.kind for one in groups for trajectory in one.group)
    return {kind: counts[kind] / counts.total() for kind in sorted(NEVER_SCORED) if counts[kind]}


def why_flat(groups: Sequence[GroupRecord]) -> str:
    """Why groups in which every advantage is 0 are so, as far as they show it, and what one can do.

    Args:
        groups: rated; at least one.
    """
    outcomes = [_totals(one.scores) for one in groups if one.scores is not None]
    if all(len(outcome) < 2 for outcome in outcomes):
        return "Only one attempt of each group was scored, and there is nothing to compare it with: play larger groups"
    if any(np.ptp(outcome) > 0 for outcome in outcomes):
        return (
            "Scores differ within groups, but the credit makes nothing of it: see which channel it reads, and which "
            "attempts it counts"
        )
    scored = [trajectory for one in groups for trajectory, seen in zip(one.group, one.scored, strict=True) if seen]
    if all(turn.sampling.temperature == 0 for one in scored for turn in one.turns):
        return "Attempts are drawn at temperature 0, so siblings are all the same: draw at a temperature of 1"
    values = sorted({float(outcome[0]) for outcome in outcomes})
    if len(values) > 1:
        return (
            f"Siblings always do equally well: {_count(outcomes, values[-1])} groups all scored {values[-1]:.3g}, "
            f"{_count(outcomes, values[0])} all {values[0]:.3g}. Play larger groups, or tasks that succeed now and then"
        )
    if values[0] > 0:
        return (
            f"All {len(scored)} attempts scored {values[0]:.3g}: take harder tasks, or a reward that also tells good "
            "attempts apart"
        )
    return f"All {len(scored)} attempts scored {values[0]:.3g}: {_why_wrong(scored)}"


def _why_wrong(scored: Sequence[Trajectory]) -> str:
    """Why no attempt is right, as far as attempts show it."""
    cut = sum(one.ending.kind == "truncated" and one.ending.reason == "length" for one in scored)
    if 2 * cut >= len(scored):
        return f"{cut} were cut off at their limit of tokens, so allow more tokens a turn or teach shorter attempts"
    offered = [one for one in scored if one.tools]
    malformed = sum(any(turn.parsed.errors for turn in one.turns) for one in offered)
    if offered and not any(one.calls for one in offered):
        what = f"{malformed} made a malformed call and none a good one" if malformed else "none of them called a tool"
        return f"{what}. What is never done is never rewarded: teach the policy its tools first, see `handaxe start`"
    return "take easier tasks, give a reward for doing it in part, or teach the policy from demonstrations first"


def _count(outcomes: Sequence[np.ndarray], value: float) -> int:
    return sum(float(outcome[0]) == value for outcome in outcomes)


def _totals(scores: Scores) -> np.ndarray:
    """[G]: what each attempt earned in all."""
    turns = scores.turns or [np.zeros(0)] * len(scores.outcome)
    return scores.outcome + np.array([own.sum() for own in turns])


def _is_flat(one: GroupRecord) -> bool:
    return one.advantages is not None and not any(np.any(tokens) for found in one.advantages.tokens for tokens in found)


def _shortened(text: str) -> str:
    return text if len(text) <= ROOM else f"{text[:ROOM]}..."
