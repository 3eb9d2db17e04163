"""Contracts of the user's roles, checked on the first step of a run.

The form of advantages is checked for every credit, selector and transform. A copy of each role with code of the user
(`core.user_code`) is called again on one group, with the random state restored: the run has equal numbers with and
without the check.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.advantage_problems import advantage_problems
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.isolated_copy import isolated_copy
from handaxe.core.protocols import AdvantageTransform, Credit, Loss, Reward, Selector
from handaxe.core.records import Advantages, Ending, Group, RatedGroup, Scores, TokenSequence
from handaxe.core.user_code import user_function
from handaxe.ops.random_state import kept_random_state
from handaxe.selection.parts.dispositions import part_name
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.loss_problems import loss_problems
from handaxe.training.loop.rate import rewinder

__all__ = ["FirstStep"]

CLOSE = 1e-9
"""Tolerance between advantages of two calls with differences that must not matter."""
CHECKS = {
    "reward": "check_reward",
    "credit": "check_credit",
    "select": "check_selector",
    "transform": "check_transform",
    "loss": "check_loss",
}
"""Role -> function of handaxe.testing with the whole contract."""


class FirstStep:
    """Checks of a run's roles; later steps are not checked.

    Args:
        reward, credit, select, transform, loss: roles of the run.

    Raises:
        InputError: a role breaks its contract; the message names role, function and problem.
    """

    def __init__(
        self,
        *,
        reward: Reward,
        credit: Credit,
        select: Selector,
        transform: AdvantageTransform | None,
        loss: Loss,
    ):
        self._reward = reward
        self._credit = credit
        self._select = select
        self._transform = transform
        self._loss = loss
        self._rated, self._selected = False, False

    def check_rated(self, groups: Sequence[RatedGroup]) -> None:
        """Check reward and credit on the groups of the first round."""
        if self._rated or not groups:
            return
        self._rated = True
        for one in groups:
            self._raise("credit", self._credit, advantage_problems(one.advantages, one.group))
        largest = max(groups, key=lambda one: len(one.group))
        if len(largest.group) > 1 and (reward := _user_copy(self._reward)) is not None:
            self._raise("reward", self._reward, _reward_problems(reward, largest.group))
        if len(largest.group) and (credit := _user_copy(self._credit)) is not None:
            self._raise("credit", self._credit, _credit_problems(credit, largest.group, largest.scores))

    def check_selected(
        self, rated: Sequence[RatedGroup], added: Sequence[RatedGroup], trained: Sequence[RatedGroup], pad_id: int
    ) -> None:
        """Check selector, transform and loss.

        Args:
            rated: groups that were selected from.
            added: selected live groups, before the transform.
            trained: the groups after the transform.
            pad_id: of the engine.
        """
        if self._selected or not rated:
            return
        self._selected = True
        self._raise("select", self._select, _group_problems(added))
        if (select := _user_copy(self._select)) is not None:
            self._raise("select", self._select, _repeat_problems(select, rated))
        if self._transform is not None and added:
            self._raise("transform", self._transform, _group_problems(trained))
            if (transform := _user_copy(self._transform)) is not None:
                self._raise("transform", self._transform, _repeat_problems(transform, added))
        training = [one for one in trained if any(m.any() for i in range(len(one.group)) for m in one.training_mask(i))]
        if training and (loss := _user_copy(self._loss)) is not None:
            part = [one for one in training if one.part == training[0].part][:2]
            with kept_random_state():
                self._raise("loss", self._loss, loss_problems(loss, make_batch(part, pad_id=pad_id)))

    def _raise(self, role: str, part: object, problems: Iterator[str]) -> None:
        with kept_random_state():
            problem = next(problems, "")
        if problem:
            raise InputError(
                f"the {role} {user_function(part) or part_name(part)!r} breaks its contract: "
                f"{problem}. Fix the function; handaxe.testing.{CHECKS[role]} checks it without a run"
            )


def _user_copy(part: Any) -> Any:
    """A copy of a role with code of the user; None for other roles, and for a role that cannot be copied."""
    if not user_function(part):
        return None
    try:
        return isolated_copy(part, share=(torch.nn.Module,))
    except Exception:  # of a lock, a connection, a generator: such objects have no copy
        return None


def _reward_problems(reward: Reward, group: Group) -> Iterator[str]:
    """Problems of a reward, from one call with siblings in reverse. Random scores are no problem here."""
    rewind, size = rewinder(reward), len(group)

    def outcome(order: list[int]) -> np.ndarray:
        before = _frozen(group)
        scores = reward(replace(group, trajectories=tuple(group[i] for i in order)))
        rewind()
        changed.append(before != _frozen(group))
        values = np.empty(size)
        values[order] = scores.outcome
        return values

    changed = list[bool]()
    first, reverse = outcome([*range(size)]), outcome([*range(size)][::-1])
    if any(changed):
        yield "the group is changed by scoring; copy before you change"
    differs = not np.allclose(first, reverse, rtol=0, atol=CLOSE, equal_nan=True)
    if differs and np.allclose(first, outcome([*range(size)]), rtol=0, atol=CLOSE, equal_nan=True):
        yield f"siblings in reverse order get {reverse.tolist()}, and {first.tolist()} before"


def _credit_problems(credit: Credit, group: Group, scores: Scores) -> Iterator[str]:
    rewind = rewinder(credit)

    def call(group: Group, scores: Scores) -> Advantages:
        found = credit(group, scores)
        rewind()
        return found

    before = _frozen((group, scores))
    first = call(group, scores)
    if before != _frozen((group, scores)):
        yield "it changes its input; copy before you change"
    yield from advantage_problems(first, group)
    if not _same(first, call(group, scores), len(group)):
        yield "two calls with one group differ: state needs state_dict and load_state_dict, random numbers a seed"
    if not _same(first, call(_poisoned(group), scores), len(group)):
        yield "it reads features of tokens that the policy did not write: use sequence.mask"
    if any(one.branch_of is not None for one in group):
        return
    crowd, wider = _with_unscored(group, scores)
    found = call(crowd, wider)
    for problem in advantage_problems(found, crowd):
        yield f"{problem}, in a group with an unscored sibling (outcome NaN)"
    if any(np.any(array) for array in found.tokens[-1]):
        yield "an unscored sibling (outcome NaN) has an advantage other than 0"
    if not _same(first, found, len(group)):
        yield "an unscored sibling (outcome NaN) changes the advantages of the others"


def _with_unscored(group: Group, scores: Scores) -> tuple[Group, Scores]:
    """The group with a copy of its last sibling that has no score."""
    last = replace(group[-1], id=f"{group[-1].id}/unscored", ending=Ending("infra_error", "check of the first step"))
    missing = np.full(len(last.turns), np.nan)
    eligible = np.ones(len(group), bool) if scores.eligible is None else scores.eligible
    wider = Scores(
        np.append(scores.outcome, np.nan),
        turns=None if scores.turns is None else (*scores.turns, missing),
        channels={name: np.append(values, np.nan) for name, values in scores.channels.items()},
        turn_channels={name: (*values, missing) for name, values in scores.turn_channels.items()},
        eligible=np.append(eligible, False),
    )
    return replace(group, trajectories=(*group.trajectories, last)), wider


def _poisoned(group: Group) -> Group:
    """The group with NaN in every feature off the mask."""

    def own(sequence: TokenSequence) -> TokenSequence:
        features = {name: np.where(sequence.mask, x, np.nan) for name, x in sequence.features.items()}
        return replace(sequence, features=features)

    members = tuple(replace(t, sequences=tuple(own(s) for s in t.sequences)) for t in group)
    return replace(group, trajectories=members)


def _group_problems(groups: Sequence[RatedGroup]) -> Iterator[str]:
    for one in groups:
        if np.shape(one.trained) != (len(one.group),) or np.asarray(one.trained).dtype != bool:
            yield f"`trained` of task {one.group.task.id!r} is not one bool a sibling"
        if len({trajectory.id for trajectory in one.group}) != len(one.group):
            yield f"two siblings of task {one.group.task.id!r} share an id"
        yield from advantage_problems(one.advantages, one.group)


def _repeat_problems(part: Selector | AdvantageTransform, groups: Sequence[RatedGroup]) -> Iterator[str]:
    rewind, before = rewinder(part), _frozen(list(groups))
    found = []
    for _ in range(2):
        found.append(list(part(list(groups))))
        rewind()
        if before != _frozen(list(groups)):
            yield "it changes its input: use dataclasses.replace"
    names = [[trajectory.id for one in some for trajectory in one.group] for some in found]
    if names[0] != names[1] or not all(_same_group(a, b) for a, b in zip(*found, strict=True)):
        yield "two calls with the same groups differ: state needs state_dict and load_state_dict, random numbers a seed"


def _same_group(a: RatedGroup, b: RatedGroup) -> bool:
    return np.array_equal(a.trained, b.trained) and _same(a.advantages, b.advantages, len(a.group))


def _same(first: Advantages, second: Advantages, siblings: int) -> bool:
    """True if tokens and returns of the first siblings are equal up to rounding."""
    for ours, theirs in ((first.tokens, second.tokens), (first.returns or (), second.returns or ())):
        for own, other in zip(ours[:siblings], theirs[:siblings]):
            if not all(np.allclose(x, y, rtol=CLOSE, atol=CLOSE) for x, y in zip(own, other, strict=True)):
                return False
    return True


def _frozen(value: Any) -> bytes:
    """Bytes that change with the content; b"" for content that cannot be pickled."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        return b""
