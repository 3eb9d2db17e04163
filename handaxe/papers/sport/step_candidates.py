"""Plays several candidates of each turn, lets a verifier pick the best, and continues from the best."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import Judge, Rollout, RolloutPlan
from handaxe.core.records import Group, Trajectory
from handaxe.core.requests import Attempt, Stopped, Work
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.attach_branches import attach_branches
from handaxe.rollouts.play.rounds import Rounds
from handaxe.rollouts.search.node import Node, grow

__all__ = ["CANDIDATES", "step_candidates"]

CANDIDATES = "candidates"
"""Key of the notes: the verifier's score of each turn, None without one."""


def step_candidates(*, judge: Judge, samples: int = 5, max_turns: int | Rules = 4) -> Rollout:
    """Play n candidates of each turn, each with the environment's reply, and continue from the best.

        turn k = argmax_n judge(x_n)     of next turns x_1, ..., x_samples with their results; ties go to the first

    All candidates of a turn start from the same tokens and the same state of the environment, without effects of other
    candidates. The verifier scores the rollout up to the reply, without the task's answer. Without scores the first
    candidate continues.

    Args:
        judge: the verifier; an InfrastructureError of it leaves the turn without scores.
        samples: candidates of a turn, >= 1; 5 in the paper (from memory).
        max_turns: turns or `Rules`, per trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the trajectories that ended by themselves,
        then the other candidates, ended as stopped after their turn. `notes["candidates"]` has the score of each turn,
        see `step_pairs`. One rollout is a whole group: `group_size=1`.

    Raises:
        InputError: samples below 1, or an environment without snapshots or with a limit on open environments.

    Example:
        candidates scored 2, 5 and 1  ->  the second continues; its trajectory has the note [5], the others [2] and [1]

    Paper: arXiv:2504.21561 (SPORT), step sampling with a verifier.
    Differs: the verifier scores candidates one by one; a language model compares them in the paper.
    """
    if samples < 1:
        raise InputError(f"step_candidates has samples={samples}; give 1 or more")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        rounds, node = Rounds(), Node(Play(attempt, rules))
        given_up = list[str]()
        scores = dict[int, float | None]()
        try:
            yield from rounds.open(node.play)
            while rounds.active and not node.terminal:
                yield from grow(rounds, node, samples)
                played = [child for child in node.children if not child.dead]
                if not played:
                    break
                node = yield from _best(rounds, played, judge, scores)
                for play in [play for play in rounds.active if play is not node.play]:
                    given_up.append(play.attempt.id)
                    yield from rounds.drop(play)
        except Stopped:
            yield from rounds.stop()
        finally:
            rounds.close()
        return [_noted(one, scores) for one in attach_branches(rounds.trajectories, given_up)]

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


def _best(
    rounds: Rounds, nodes: Sequence[Node], judge: Judge, scores: dict[int, float | None]
) -> Generator[Request, Any, Node]:
    """Score candidates in one call and return the best; the scores stand by the seeds of their turns."""
    ended = {one.id: one for one in rounds.trajectories}
    shown = [ended.get(node.play.attempt.id) or node.play.partial_trajectory() for node in nodes]
    try:
        found = np.array((yield Work(partial(judge.score, Group(shown[0].task, tuple(shown))))), np.float64)
    except InfrastructureError:
        found = np.full(len(nodes), np.nan)
    found[[one.ending.kind == "infra_error" for one in shown]] = np.nan
    for node, one, score in zip(nodes, shown, found, strict=True):
        scores[one.turns[node.depth - 1].seed] = None if np.isnan(score) else float(score)
    return nodes[int(np.argmax(np.where(np.isnan(found), -np.inf, found)))]


def _noted(one: Trajectory, scores: dict[int, float | None]) -> Trajectory:
    return replace(one, notes={**one.notes, CANDIDATES: [scores.get(turn.seed) for turn in one.turns]})
