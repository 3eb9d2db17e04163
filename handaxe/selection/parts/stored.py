"""Stored trajectories of selectors: a rated group of one, with its sampling log-probs.

A group of one has everything for a later step: the trajectory with ids and versions, its scores, its advantages and
its step. `dump` and `load` convert it to and from selector state.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Advantages, Disposition, Group, RatedGroup, Scores, Task, TokenSequence, Trajectory
from handaxe.ops.codec import dump_record, image_finder, load_record
from handaxe.ops.ragged import group_rewards
from handaxe.ops.rewindable import rewind_obstacle

__all__ = ["dump", "is_resumable", "load", "stored_reward", "stored_sibling", "swap_in"]

ARRAYS = ("ids", "author", "turn", "logp", "behaviour_logp", "version")


def stored_sibling(one: RatedGroup, index: int) -> RatedGroup:
    """Make a group of one sibling, with its scores and advantages.

    The reference log-prob of the importance ratio becomes the feature old_logp: the measured one, else the sampler's.
    Later measurements do not overwrite it. A sequence with FORCED tokens and without a measured old_logp gets none.
    """
    advantages, scores = one.advantages, one.scores
    trajectory = one.group[index]
    sequences = tuple(_with_old_logp(sequence) for sequence in trajectory.sequences)
    return RatedGroup.of(
        Group(one.group.task, (replace(trajectory, sequences=sequences, branch_of=None),), one.group.step),
        Scores(
            outcome=np.array([scores.outcome[index]], np.float64),
            turns=None if scores.turns is None else (scores.turns[index],),
            channels={name: values[index : index + 1].copy() for name, values in scores.channels.items()},
            turn_channels={name: (values[index],) for name, values in scores.turn_channels.items()},
            eligible=None if scores.eligible is None else scores.eligible[index : index + 1].copy(),
        ),
        Advantages(
            tokens=(advantages.tokens[index],),
            returns=None if advantages.returns is None else (advantages.returns[index],),
            trains=None if advantages.trains is None else (advantages.trains[index],),
        ),
    )


def stored_reward(stored: RatedGroup, *, channel: str | None = None) -> float:
    """Return the total reward of the stored trajectory, or its reward in a channel."""
    return float(group_rewards(stored.group, stored.scores, channel=channel)[0])


def is_resumable(recorded: Trajectory, task: Task | None = None) -> bool:
    """Check whether other rollouts can resume in the middle of a recorded trajectory, as `rollouts.rewind` does. With a
    task, also check that the recorded task is equal, with the same opening messages.
    """
    same = task is None or (task.id, task.messages) == (recorded.task.id, recorded.task.messages)
    return same and not rewind_obstacle(recorded)


def swap_in(one: RatedGroup, index: int, stored: RatedGroup, *, id: str, by: str) -> RatedGroup:
    """Replace a sibling by a stored trajectory, in group and scores. The sibling is dropped.

    Args:
        id: of the trajectory in the group.
        by: name of the selector, for the record.

    Raises:
        InputError: the stored trajectory was scored by another reward, with other channels or turn rewards.
    """
    own, scores = stored.scores, one.scores
    names = (set(own.channels), set(own.turn_channels), own.turns is None, own.eligible is None)
    if names != (set(scores.channels), set(scores.turn_channels), scores.turns is None, scores.eligible is None):
        raise InputError(
            f"the stored attempt {stored.group[0].id!r} has channels {sorted(names[0] | names[1])}, the group has "
            f"{sorted({*scores.channels, *scores.turn_channels})}: what is stored must come of the same reward"
        )

    def array(values: np.ndarray, mine: np.ndarray) -> np.ndarray:
        changed = values.copy()
        changed[index] = mine[0]
        return changed

    def ragged(values: tuple[np.ndarray, ...], mine: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        return (*values[:index], mine[0], *values[index + 1 :])

    kept, group = scores.turn_channels, one.group
    changed = Scores(
        outcome=array(scores.outcome, own.outcome),
        turns=None if scores.turns is None or own.turns is None else ragged(scores.turns, own.turns),
        channels={name: array(values, own.channels[name]) for name, values in scores.channels.items()},
        turn_channels={name: ragged(values, own.turn_channels[name]) for name, values in kept.items()},
        eligible=None if scores.eligible is None or own.eligible is None else array(scores.eligible, own.eligible),
    )
    siblings = list(group.trajectories)
    siblings[index] = replace(stored.group[0], id=id, sample=group[index].sample)
    dropped = one.decided({group[index].id: Disposition("dropped", by)})
    return dropped.with_group(replace(group, trajectories=tuple(siblings)), changed)


def dump(stored: RatedGroup) -> dict[str, Any]:
    """Convert a stored trajectory to strings, numbers, arrays, images, lists and dicts."""
    trajectory = stored.group[0]
    scores, advantages = stored.scores, stored.advantages
    images: dict[str, Image] = {}
    state = {
        "step": stored.group.step,
        "task": dump_record(stored.group.task, images),
        "trajectory": dump_record(replace(trajectory, sequences=()), images),
        "sequences": [
            {name: getattr(one, name) for name in ARRAYS} | {"features": dict(one.features)}
            for one in trajectory.sequences
        ],
        "outcome": float(scores.outcome[0]),
        "turns": None if scores.turns is None else scores.turns[0],
        "channels": {name: float(values[0]) for name, values in scores.channels.items()},
        "turn_channels": {name: values[0] for name, values in scores.turn_channels.items()},
        "eligible": None if scores.eligible is None else bool(scores.eligible[0]),
        "advantages": list(advantages.tokens[0]),
        "returns": None if advantages.returns is None else list(advantages.returns[0]),
        "trains": None if advantages.trains is None else list(advantages.trains[0]),
    }
    return state | {"images": list(images.values())} if images else state


def load(state: Mapping[str, Any]) -> RatedGroup:
    """Restore a stored trajectory from the state of `dump`."""
    source = image_finder(state.get("images", ()))
    trajectory: Trajectory = load_record(Trajectory, state["trajectory"], source)
    sequences = tuple(
        TokenSequence(**{name: one[name] for name in ARRAYS}, features=dict(one["features"]))
        for one in state["sequences"]
    )

    def ragged(name: str) -> tuple[tuple[np.ndarray, ...], ...] | None:
        return None if state[name] is None else (tuple(state[name]),)

    task = load_record(Task, state["task"], source)
    scores = Scores(
        outcome=np.array([state["outcome"]], np.float64),
        turns=None if state["turns"] is None else (state["turns"],),
        channels={name: np.array([value], np.float64) for name, value in state["channels"].items()},
        turn_channels={name: (values,) for name, values in state["turn_channels"].items()},
        eligible=None if state["eligible"] is None else np.array([state["eligible"]], bool),
    )
    advantages = Advantages((tuple(state["advantages"]),), ragged("returns"), ragged("trains"))
    group = Group(task, (replace(trajectory, task=task, sequences=sequences),), state["step"])
    return RatedGroup.of(group, scores, advantages)


def _with_old_logp(sequence: TokenSequence) -> TokenSequence:
    if "old_logp" in sequence.features or sequence.forced.any():
        return sequence
    return replace(sequence, features={**sequence.features, "old_logp": sequence.logp})
