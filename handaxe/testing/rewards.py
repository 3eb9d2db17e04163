"""Contract of rewards."""

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.protocols import Reward, Stateful
from handaxe.core.records import Group, Scores, TokenSequence, Trajectory

__all__ = ["check_reward", "without_turns"]


def check_reward(reward: Reward, group: Group, *, tolerance: float = 0.0) -> None:
    """Check the contract of a reward on a group.

    The group should have siblings with different rewards. Checked are:
        shapes       outcome [G]; turns, channels and turn_channels of the shapes in `records.Scores`; all finite
        purity       neither the group nor, after its state is restored, the reward is changed by scoring
        determinism  two calls from one state are equal
        order        siblings in another order get the same scores in that order
        edge cases   a lone sibling, and a sibling without turns, are scored
        state        state_dict is JSON, and load_state_dict of it changes nothing

    Args:
        reward: the reward.
        group: at least two siblings, at least one turn among them.
        tolerance: allowed difference of numbers with siblings in another order; 0 compares bit for bit. For rewards
            that read siblings in one batch, whose rounding depends on their order.

    Raises:
        AssertionError: a promise is broken; the message names it.
    """
    assert len(group) >= 2, "check_reward needs at least two siblings"
    before = pickle.dumps(group)
    first = _ask(reward, group)
    _check_shapes(first, group)
    assert pickle.dumps(group) == before, "the reward changed the group that it scored"
    _check_same(first, _ask(reward, group), range(len(group)), "two calls of the reward differ")
    for order in (list(range(len(group)))[::-1], [*range(1, len(group)), 0]):
        moved = replace(group, trajectories=tuple(group[i] for i in order))
        _check_same(first, _ask(reward, moved), order, f"with siblings in the order {order} scores differ", tolerance)
    for one in group:
        lone = replace(group, trajectories=(one,))
        _check_shapes(_ask(reward, lone), lone)
    silent = replace(group, trajectories=(*group.trajectories, without_turns(group[0])))
    _check_shapes(_ask(reward, silent), silent)
    if isinstance(reward, Stateful):
        _check_state(reward, group)


def without_turns(trajectory: Trajectory) -> Trajectory:
    """Cut a trajectory before the first turn."""
    opening = trajectory.sequences[0]
    length = int(np.argmax(opening.mask)) if opening.mask.any() else len(opening)
    cut = TokenSequence(
        opening.ids[:length],
        opening.author[:length],
        opening.turn[:length],
        opening.logp[:length],
        opening.behaviour_logp[:length],
        opening.version[:length],
        {name: values[:length] for name, values in opening.features.items()},
    )
    return replace(
        trajectory, id=f"{trajectory.id}/silent", turns=(), sequences=(cut,), messages=trajectory.task.messages
    )


def _ask(reward: Reward, group: Group) -> Scores:
    """Score a group, and restore the reward's state."""
    if not isinstance(reward, Stateful):
        return reward(group)
    stateful: Stateful = reward
    state = copy.deepcopy(stateful.state_dict())
    scores = reward(group)
    stateful.load_state_dict(state)
    return scores


def _check_shapes(scores: Scores, group: Group) -> None:
    size, turns = len(group), [(len(one.turns),) for one in group]
    for name, values in {"outcome": scores.outcome, **scores.channels}.items():
        assert isinstance(values, np.ndarray), f"{name} is a {type(values).__name__}, not a numpy array"
        assert values.shape == (size,), f"{name} has shape {values.shape} for {size} siblings"
        assert np.all(np.isfinite(values)), f"{name} is not finite: {values}"
    ragged = {**({} if scores.turns is None else {"turns": scores.turns}), **scores.turn_channels}
    for name, parts in ragged.items():
        assert [part.shape for part in parts] == turns, f"{name} has shapes {[p.shape for p in parts]}, not {turns}"
        assert all(np.all(np.isfinite(part)) for part in parts), f"{name} is not finite: {parts}"
    if scores.eligible is not None:
        assert scores.eligible.shape == (size,), f"eligible has shape {scores.eligible.shape} for {size} siblings"
        assert scores.eligible.dtype == bool, f"eligible is {scores.eligible.dtype}, not bool"


def _check_same(first: Scores, second: Scores, order: Any, broken: str, tolerance: float = 0.0) -> None:
    """Check whether `second` is `first` with siblings in `order`."""
    a, b = _flat(first), _flat(second)
    assert a.keys() == b.keys(), f"{broken}: {sorted(a)} and {sorted(b)}"
    for name in a:
        for place, index in enumerate(order):
            left, right = np.asarray(a[name][index]), np.asarray(b[name][place])
            near = tolerance > 0 and left.shape == right.shape and np.allclose(left, right, rtol=0, atol=tolerance)
            same = near or np.array_equal(left, right)
            assert same, f"{broken}: {name} of sibling {index}: {a[name][index]} and {b[name][place]}"


def _flat(scores: Scores) -> dict[str, Any]:
    out: dict[str, Any] = {"outcome": scores.outcome, "turns": scores.turns, "eligible": scores.eligible}
    out |= {f"channel {name}": values for name, values in scores.channels.items()}
    out |= {f"turn channel {name}": values for name, values in scores.turn_channels.items()}
    return {name: values for name, values in out.items() if values is not None}


def _check_state(reward: Stateful, group: Group) -> None:
    assert callable(reward), "a reward must be callable"
    reward(group)
    state = json.loads(json.dumps(reward.state_dict()))
    first = reward(group)
    reward.load_state_dict(state)
    assert json.loads(json.dumps(reward.state_dict())) == state, "load_state_dict does not restore the whole state"
    _check_same(first, reward(group), range(len(group)), "scores differ after load_state_dict")
