"""Beam search over turns, guided by a judge of steps."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import Rollout, RolloutPlan, StepJudge
from handaxe.core.records import Group, Trajectory
from handaxe.core.requests import Attempt, Stopped, Work
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.attach_branches import attach_branches
from handaxe.rollouts.play.rounds import Rounds
from handaxe.rollouts.search.node import Node, grow

__all__ = ["KEPT", "judged_beam"]

KEPT = "kept"
"""Key of the notes: whether a trajectory was in the last beam."""


def judged_beam(*, judge: StepJudge, candidates: int = 5, beam: int = 2, max_turns: int | Rules = 4) -> Rollout:
    """Sample several next turns for each kept partial trajectory, and keep the best partial trajectories.

        B_0 = the question;  C_k: `candidates` next turns of each unfinished member of B_k, and its finished members
        B_k+1 = the `beam` members of C_k with the highest mean step score of the judge, ties to the first
        until all members are finished

    Args:
        judge: scores every turn of a partial trajectory. Its InfrastructureError ends the search.
        candidates: next turns of a partial trajectory, >= 1.
        beam: kept partial trajectories, >= 1.
        max_turns: turns or `Rules`, per trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the trajectories of the last beam, and after
        these all others, of which the unfinished ones ended as stopped. `notes["kept"]` tells which. One rollout is a
        whole group: `group_size=1`.

    Raises:
        InputError: a number below 1, or an environment without snapshots or with a limit on open environments.

    Example:
        four candidates with P(correct) 0.2, 0.7, 0.6, 0.1 and beam 2  ->  0.7 and 0.6 are kept

    Paper: arXiv:2505.21496 (UI-Genie), section 3.4, exploration guided by the reward model.
    Differs: ten candidates, a beam of five and the sum of the step scores in the paper. Completion is not judged; a
        rollout ends as its environment ends it.
    Unconfirmed: whether a step's score is the label or its probability.
    """
    if candidates < 1 or beam < 1:
        raise InputError(f"judged_beam has candidates={candidates} and beam={beam}; give 1 or more")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        rounds, kept = Rounds(), [Node(Play(attempt, rules))]
        try:
            yield from rounds.open(kept[0].play)
            while rounds.active and not all(node.terminal for node in kept):
                kept = yield from _next_beam(rounds, kept, judge, candidates, beam)
                for play in rounds.active:
                    if not any(node.play is play for node in kept):
                        yield from rounds.drop(play)
        except Stopped:
            yield from rounds.stop()
        finally:
            rounds.close()
        return _ordered(rounds.trajectories, {node.play.attempt.id for node in kept})

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


def _next_beam(
    rounds: Rounds, kept: list[Node], judge: StepJudge, candidates: int, beam: int
) -> Generator[Request, Any, list[Node]]:
    found: list[Node] = []
    for node in kept:
        if node.terminal:
            found.append(node)
            continue
        yield from grow(rounds, node, candidates)
        found += [one for one in node.children if not one.dead]
    scores = []
    for node in found:
        try:
            scores.append((yield Work(partial(_score, judge, node.play.partial_trajectory()))))
        except InfrastructureError as error:  # of a remote judge
            raise Stopped from error
    order = sorted(range(len(found)), key=lambda k: -scores[k])
    return [found[k] for k in order[:beam]]


def _score(judge: StepJudge, one: Trajectory) -> float:
    return float(judge.score_steps(Group(one.task, (one,)))[0].mean())


def _ordered(trajectories: list[Trajectory], kept: set[str]) -> list[Trajectory]:
    """Trajectories of the last beam first, with the note."""
    noted = [replace(one, notes={**one.notes, KEPT: one.id in kept}) for one in trajectories]
    return attach_branches(noted, {one.id for one in noted if not one.notes[KEPT]})
