"""Test for credits that learn only by comparing siblings: a call on rollouts without siblings."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform, Credit, Rollout
from handaxe.core.records import (
    Author,
    Ending,
    Group,
    Message,
    ParsedTurn,
    RatedGroup,
    Sampling,
    Scores,
    Task,
    TokenSequence,
    Trajectory,
    Turn,
)
from handaxe.training.loop.rate import FEATURES, rewinder

__all__ = ["Branches", "check_siblings", "needs_siblings"]

REWARDS = (1.0, -1.0, 0.25)
"""Rewards of the rollouts without siblings, chosen so that no constant baseline makes all advantages 0."""


@runtime_checkable
class Branches(Protocol):
    """Rollout strategy with several siblings per rollout, marked by this attribute."""

    branches: bool


def check_siblings(group_size: int, *, credit: Credit, transform: AdvantageTransform | None, rollout: Rollout) -> None:
    """Raise InputError if rollouts have no siblings and the credit learns only by comparing siblings."""
    if group_size == 1 and not isinstance(rollout, Branches) and needs_siblings(credit, transform):
        raise InputError(
            "a group size of 1 leaves every rollout without siblings, and the credit compares siblings: every "
            "advantage would be 0. Play 2 rollouts a task or more, or take a credit without comparison, such as "
            "constant_baseline or, with a critic, gae"
        )


def needs_siblings(credit: Credit, transform: AdvantageTransform | None = None) -> bool:
    """Return True if a rollout without siblings has advantages of 0 for any reward. False for a credit that raises on
    the artificial rollouts.
    """
    rewinds = rewinder(credit), rewinder(transform)
    try:
        rated = [_rated(credit, k, reward) for k, reward in enumerate(REWARDS)]
        for one in rated if transform is None else transform(rated):
            if any(np.any(tokens) for found in one.advantages.tokens for tokens in found):
                return False
        return True
    except Exception:  # of a user's credit, which may need other data
        return False
    finally:
        for rewind in rewinds:
            rewind()


class _AnyChannel(dict[str, np.ndarray]):
    """Channels of any name, all equal to the outcome."""

    def __init__(self, outcome: np.ndarray):
        super().__init__()
        self._outcome = outcome

    def __missing__(self, name: str) -> np.ndarray:
        return self._outcome

    def __contains__(self, name: object) -> bool:
        return True


def _rated(credit: Credit, number: int, reward: float) -> RatedGroup:
    group, outcome = Group(TASK, (_alone(number),)), np.array([reward])
    scores = Scores(outcome, channels=_AnyChannel(outcome))
    return RatedGroup.of(group, scores, credit(group, scores))


def _alone(number: int) -> Trajectory:
    """A rollout of two prompt tokens and two answer tokens, with every feature."""
    author = np.array([Author.USER, Author.USER, Author.POLICY, Author.POLICY], np.int8)
    turn, logp = np.array([-1, -1, 0, 0]), np.array([0, 0, -0.5, -1], np.float32)
    features: dict[str, Any] = {name: np.array([0, 0, 0.5, 0.25]) for name in FEATURES}
    sequence = TokenSequence(np.arange(4), author, turn, logp, logp, np.where(turn < 0, -1, 0), features)
    said = Turn(0, 2, 4, ParsedTurn("yes", raw="yes"), "stop", Sampling(), seed=0)
    messages: Sequence[Message] = (*TASK.messages, Message("assistant", "yes"))
    return Trajectory(f"alone/{number}", TASK, 0, (said,), (sequence,), Ending("completed"), tuple(messages))


TASK = Task("alone", (Message("user", "yes?"),), answer="yes")
