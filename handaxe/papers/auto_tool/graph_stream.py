"""A stream of conversations of a frozen policy, with a graph that learns after each chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.records import Task, Trajectory
from handaxe.evaluation.frozen_policy import FrozenPolicy
from handaxe.papers.auto_tool.inertia_arms import InertiaArm
from handaxe.papers.auto_tool.inertial_calls import inertial_calls, inertial_turns, learn_trajectory

__all__ = ["StreamRun", "graph_stream"]


class StreamRun(NamedTuple):
    """Figures of each conversation of a stream, in order."""

    right_T: np.ndarray
    calls_T: np.ndarray
    tokens_T: np.ndarray
    inertial_T: np.ndarray
    exact_T: np.ndarray


def graph_stream(
    policy: FrozenPolicy, tasks: Sequence[Task], arm: InertiaArm | None, *, chunk: int, seed: int
) -> StreamRun:
    """Play a stream of tasks in chunks; the graph learns the conversations of a chunk after it.

    Args:
        policy: frozen.
        tasks: stream, one or more.
        arm: makes the graph; None plays without one.
        chunk: conversations between two updates.
        seed: of the draws.

    Returns:
        Reward, sampled turns, sampled tokens, turns of the graph, and calls of the graph that equal a reference call.

    Example:
        arm None -> inertial_T and exact_T are 0

    Paper: arXiv:2511.14650 (AutoTool), a graph from the agent's own trajectories.
    Differs: updates come after chunks.
    """
    first = policy.world.env(policy.world.tools)(tasks[0])
    inertia = None if arm is None else arm(first.start()[1])
    first.close()
    rollout = None if inertia is None else inertial_calls(inertia=inertia, max_turns=policy.max_turns)
    played = list[tuple[Trajectory, float]]()
    for start in range(0, len(tasks), chunk):
        own = policy.play(tasks[start : start + chunk], seed=seed, rollout=rollout)
        played += own
        if inertia is not None:
            for one, _ in own:
                learn_trajectory(inertia, one)
    return StreamRun(*np.array([_row(policy, one, right) for one, right in played], np.float64).T)


def _row(policy: FrozenPolicy, one: Trajectory, right: float) -> tuple[float, ...]:
    own = inertial_turns(one)
    sampled = [turn for number, turn in enumerate(one.turns) if number not in own]
    reference = [(call.name, call.arguments) for call in policy.world.need("reference")(one.task)]
    made = [(call.name, call.arguments) for number in own for call in one.turns[number].parsed.calls]
    tokens = sum(turn.stop - turn.start for turn in sampled)
    return right, len(sampled), tokens, len(own), sum(call in reference for call in made)
