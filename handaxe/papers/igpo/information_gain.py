"""Turn rewards equal to the gain in the likelihood of the gold answer."""

from collections.abc import Mapping

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.parts.checks import outcome_only, validate_scores

__all__ = ["information_gain"]


def information_gain(*, base: Reward, note: str = "answer_likelihood") -> Reward:
    """Reward every turn but the last with the gain in likelihood of the gold answer, and the last with the outcome.

        r_k = p_{k+1} - p_k        for turns k = 0 .. N-2
        r_{N-1} = 0                the outcome is that of the base

    p_k is the policy's likelihood of the gold answer before turn k, as `papers.igpo.answer_likelihood` notes it. A gain
    may be negative. No gradient flows through p.

    Args:
        base: reward of the answer; its outcome is used.
        note: key of p_0 .. p_{N-1} in the trajectory's notes.

    Returns:
        A reward: outcome [G] of the base; turn rewards per trajectory [N], also the turn channel "gain"; the channel
        "gained" [G] is their sum. Zeros for a trajectory without a turn.

    Raises:
        InputError: a trajectory without the note, or with fewer likelihoods than turns.

    Example:
        p = 0.13534, 0.36788, 0.47237 over three turns  ->  0.23254, 0.10449, 0, and the outcome for the answer

    Paper: arXiv:2510.14967 (IGPO), equation of the information gain. Differs: a malformed answer gets the base's
    reward; the released code gives -2.
    """
    return _InformationGain(base, note)


class _InformationGain(StatefulComposite):
    def __init__(self, base: Reward, note: str):
        self._base, self._note = base, note

    def __call__(self, group: Group) -> Scores:
        base = outcome_only(validate_scores(self._base(group), group, "base"), "base")
        turns = tuple(_gains(one, self._note) for one in group)
        gained = np.array([own.sum() for own in turns])
        inner = {f"base/{name}": value for name, value in base.channels.items()}
        channels = {"base": base.outcome, "gained": gained} | inner
        return Scores(base.outcome, turns, channels, {"gain": turns}, base.eligible)

    def parts(self) -> Mapping[str, object]:
        return {"base": self._base}


def _gains(one: Trajectory, note: str) -> np.ndarray:
    found, count = one.notes.get(note), len(one.turns)
    if found is None or len(found) < count:
        raise InputError(
            f"trajectory {one.id!r} has {count} turns and {len(found or ())} likelihoods of the answer in its note "
            f"{note!r}: play it with papers.igpo.answer_likelihood(note={note!r})"
        )
    gains = np.zeros(count)
    gains[:-1] = np.diff(np.array(found[:count], np.float64))
    return gains
