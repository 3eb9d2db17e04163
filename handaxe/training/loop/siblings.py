"""Finds out whether a credit learns only from siblings, by asking it about attempts that have none."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit, Rollout, Shape
from handaxe.core.records import (
    Author,
    Ending,
    Group,
    Message,
    ParsedTurn,
    Rated,
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
"""What the attempts are given that have no siblings; whatever a credit takes away, one of them is left."""


@runtime_checkable
class Branches(Protocol):
    """A rollout strategy that makes several siblings of one attempt, and says so by having this attribute."""

    branches: bool


def check_siblings(group_size: int, *, credit: Credit, shape: Shape | None, rollout: Rollout) -> None:
    """Raise InputError when attempts are played alone, and the credit learns only by comparing siblings."""
    if group_size == 1 and not isinstance(rollout, Branches) and needs_siblings(credit, shape):
        raise InputError(
            "a group size of 1 leaves every attempt without siblings, and the credit compares siblings: every "
            "advantage would be 0. Play 2 attempts a task or more, or take a credit that compares nothing, such as "
            "constant_baseline or, with a critic, gae"
        )


def needs_siblings(credit: Credit, shape: Shape | None = None) -> bool:
    """Whether the advantages of an attempt without siblings are 0 whatever it is given. A credit that fails on the
    attempts made up here is taken at its word."""
    rewinds = rewinder(credit), rewinder(shape)
    try:
        rated = [_rated(credit, k, reward) for k, reward in enumerate(REWARDS)]
        for one in rated if shape is None else shape(rated):
            if any(np.any(tokens) for found in one.advantages.tokens for tokens in found):
                return False
        return True
    except Exception:  # a user's own: whatever it needs that is not there
        return False
    finally:
        for rewind in rewinds:
            rewind()


class _AnyChannel(dict[str, np.ndarray]):
    """Channels of every name, all equal to the outcome."""

    def __init__(self, outcome: np.ndarray):
        super().__init__()
        self._outcome = outcome

    def __missing__(self, name: str) -> np.ndarray:
        return self._outcome

    def __contains__(self, name: object) -> bool:
        return True


def _rated(credit: Credit, number: int, reward: float) -> Rated:
    group, outcome = Group(TASK, (_alone(number),)), np.array([reward])
    scores = Scores(outcome, channels=_AnyChannel(outcome))
    return Rated(group, scores, credit(group, scores), np.ones(1, bool))


def _alone(number: int) -> Trajectory:
    """A question of two tokens and an answer of two, with every feature there is."""
    author = np.array([Author.USER, Author.USER, Author.POLICY, Author.POLICY], np.int8)
    turn, logp = np.array([-1, -1, 0, 0]), np.array([0, 0, -0.5, -1], np.float32)
    features: dict[str, Any] = {name: np.array([0, 0, 0.5, 0.25]) for name in FEATURES}
    sequence = TokenSequence(np.arange(4), author, turn, logp, logp, np.where(turn < 0, -1, 0), features)
    said = Turn(0, 2, 4, ParsedTurn("yes", raw="yes"), "stop", Sampling(), seed=0)
    messages: Sequence[Message] = (*TASK.messages, Message("assistant", "yes"))
    return Trajectory(f"alone/{number}", TASK, 0, (said,), (sequence,), Ending("completed"), tuple(messages))


TASK = Task("alone", (Message("user", "yes?"),), answer="yes")
