"""Monte-Carlo tree search over the turns of a question.

Kept: tree search over turns for users with a step judge.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from handaxe.core.errors import InfrastructureError, InputError, VerifierError
from handaxe.core.protocols import Reward, Rollout, RolloutPlan, StepJudge
from handaxe.core.records import Group, Trajectory
from handaxe.core.requests import Attempt, Stopped, Work
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.attach_branches import attach_branches
from handaxe.rollouts.play.rounds import Rounds
from handaxe.rollouts.search.node import Node, grow
from handaxe.rollouts.search.uct import Select, uct
from handaxe.rollouts.search.verdict_backup import BackUp, verdict_backup

__all__ = ["SEARCH", "mcts"]

SEARCH = "search"
"""Key of the notes with the search statistics of a trajectory's first turns, as far as they are nodes."""
UCT = uct()
BACK_UP = verdict_backup()


def mcts(
    *,
    outcome: Reward,
    judge: StepJudge | None = None,
    select: Select = UCT,
    back_up: BackUp = BACK_UP,
    simulations: int = 8,
    negatives: int | None = None,
    children: int = 3,
    above: float = 0.5,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Grow a tree by select, expand, simulate, back up; a node is the state after a turn.

        `simulations` times:
            select     from the question on, the child with the greatest select(sign * value, N, n), ties to the first,
                       until a node without children; never one with only finished and visited descendants
            expand     where that node was visited before, or is the question: `children` next turns, each with a
                       separate seed; continue from the best of them
            simulate   play from that node to the end
            back up    v = judge's sign for each simulated turn but the last, F = 1 where outcome > above, else -1:
                       value of the node and its ancestors += back_up(v, F, ancestors), visits += 1
        sign is 1 in the first simulations and -1 in the last `negatives`, which search for incorrect steps

                         question                    a, b, c  expansion of the question, a simulated
                      /     |     \\                   d, e, f  expansion of a, once it is chosen again: the turn that
                  a (d..)   b      c                            was simulated is no node, though its end counts
                / | \\
               d  e  f

    A node is forked from its tokens and its environment's state, so siblings never see each other's effects. Simulated
    turns are no nodes. Values are sums, as in the paper's code.

    Args:
        outcome: reward of a single rollout; it may use the task's answer.
        judge: its sign is the verdict on a step; None: no verdicts are backed up.
        select, back_up: see their types.
        simulations: >= 1.
        negatives: number of simulations that search for incorrect steps, 0 to all; None: half of them.
        children: of an expansion, >= 1; 3 in the paper.
        above: see F.
        max_turns: turns or `Rules`, per trajectory, as in `linear`; 7 turns in the paper.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory per simulation with a distinct
        end, then the expansions without a simulation, ended as stopped. `notes["search"]` lists visits, value and
        verdict (None: not judged) of each turn that is a node, in order; see `node_labels`. `ops.turn_tree.total_usage`
        gives the usage of the tree. One rollout is a whole group: `group_size=1`. A simulation that failed, or could
        not be scored (also by an InfrastructureError or VerifierError of judge or outcome), is not backed up.

    Raises:
        InputError: a number out of range, or an environment without snapshots or with a limit on open environments.

    Example:
        mcts(outcome=world.correct, judge=judge, simulations=12, negatives=4) with `RunSettings(group_size=1)`

    Paper: arXiv:2510.14942 (GroundedPRM), tree-guided path construction.
    Unconfirmed: the number of simulations, and when a chosen node is expanded rather than simulated.
    Differs: the verifier is the given judge; in the paper a language model reads the output of a mathematics engine.
    """
    negatives = simulations // 2 if negatives is None else negatives
    if simulations < 1 or children < 1 or not 0 <= negatives <= simulations:
        raise InputError(
            f"mcts has simulations={simulations}, negatives={negatives} and children={children}; give 1 simulation and "
            "1 child or more, and 0 negatives to as many as there are simulations"
        )
    rules = Rules.of(max_turns, snapshots=True)
    signs = [1.0] * (simulations - negatives) + [-1.0] * negatives

    def rollout(attempt: Attempt) -> RolloutPlan:
        rounds, root = Rounds(), Node(Play(attempt, rules))
        try:
            yield from rounds.open(root.play)
            for sign in signs if rounds.active else ():
                yield from _simulate(
                    rounds, root, partial(_chosen, select, sign), children, back_up, judge, outcome, above
                )
            given_up = [play.attempt.id for play in rounds.active]
            for play in rounds.active:
                yield from rounds.drop(play)
        except Stopped:
            given_up = []
            yield from rounds.stop()
        finally:
            rounds.close()
        return _noted(attach_branches(rounds.trajectories, given_up), root)

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


def _simulate(
    rounds: Rounds,
    root: Node,
    chosen: Any,
    children: int,
    back_up: BackUp,
    judge: StepJudge | None,
    outcome: Reward,
    above: float,
) -> Generator[Request, Any, None]:
    node = root
    while node.children and not node.closed:
        node = chosen(node)
    if node.closed:
        return
    if not node.terminal and (node.visits or node is root):
        yield from grow(rounds, node, children)
        if node.closed:
            return
        node = chosen(node)
    while not node.play.done:
        yield from rounds.next(only=[node.play])
    one = next(own for own in rounds.trajectories if own.id == node.play.attempt.id)
    found = None if one.ending.kind == "infra_error" else (yield Work(partial(_scored, one, outcome, judge)))
    if found is None:
        node.dead = True
        return
    path = node.path
    for on_way, verdict in zip(path[1:], found.verdicts):
        on_way.verdict = float(verdict)
    final = 1.0 if found.outcome > above else -1.0
    for on_way, more in zip(reversed(path), back_up(found.between(node), final, len(path) - 1)):
        on_way.visits, on_way.value = on_way.visits + 1, on_way.value + more


def _chosen(select: Select, sign: float, node: Node) -> Node:
    """Return the open child to visit."""
    return max(
        (one for one in node.children if not one.closed),
        key=lambda one: select(sign * one.value, node.visits, one.visits),
    )


class _Found:
    """Result of a simulation."""

    def __init__(self, outcome: float, verdicts: np.ndarray):
        self.outcome, self.verdicts = outcome, verdicts

    def between(self, node: Node) -> list[float]:
        """Verdicts on the turns after a node, without the last; empty without a judge."""
        return [float(one) for one in self.verdicts[node.depth : -1] if not np.isnan(one)]


def _scored(one: Trajectory, outcome: Reward, judge: StepJudge | None) -> _Found | None:
    """Outcome and signs of the judge's scores; None without an outcome, or if the judge is unreachable."""
    group = Group(one.task, (one,))
    try:
        earned = float(outcome(group).outcome[0])
        if np.isnan(earned):
            return None
        said = np.full(len(one.turns), np.nan) if judge is None else np.sign(judge.score_steps(group)[0])
    except (InfrastructureError, VerifierError):
        return None
    return _Found(earned, said)


def _noted(trajectories: Sequence[Trajectory], root: Node) -> list[Trajectory]:
    """Add each trajectory's node statistics to its notes."""
    nodes = {node.play.turns[node.depth - 1].seed: node for node in _all(root) if node.depth and not _unplayed(node)}
    out = []
    for one in trajectories:
        said = []
        for turn in one.turns:
            if turn.seed not in nodes:
                break
            node = nodes[turn.seed]
            verdict = None if np.isnan(node.verdict) else node.verdict
            said.append({"visits": node.visits, "value": node.value, "verdict": verdict})
        out.append(replace(one, notes={**one.notes, SEARCH: said}))
    return out


def _unplayed(node: Node) -> bool:
    return len(node.play.turns) < node.depth


def _all(node: Node) -> list[Node]:
    return [node, *(below for one in node.children for below in _all(one))]
