"""Tree search guided by a value model: select, expand, evaluate, roll forward, back up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan, StepJudge
from handaxe.core.records import Trajectory
from handaxe.core.requests import Attempt, Stopped
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.attach_branches import attach_branches
from handaxe.rollouts.play.rounds import Rounds
from handaxe.rollouts.search.mcts import SEARCH
from handaxe.rollouts.search.node import Node
from handaxe.rollouts.search.uct import Select
from handaxe.rollouts.search.value_tree import Answer, ChildBackUp, Roll, ValueTree

__all__ = ["CHOSEN", "ROOT", "value_search"]

CHOSEN = "search_answer"
"""Key of the notes: True for the trajectory with the answer of the search."""
ROOT = "search_root"
"""Key of the notes with visits and value of the question."""


def value_search(
    *,
    judge: StepJudge,
    select: Select,
    back_up: ChildBackUp,
    children: int = 3,
    first_visits: Literal[0, 1] = 0,
    distinct: bool = False,
    roll: Roll | None = None,
    gate: float | None = None,
    answer: Answer = "best",
    iterations: int = 8,
    tokens: int | None = None,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Grow a tree of turns with values by a judge, and answer by the tree.

        until `iterations` are done, or `tokens` are sampled:
            select     from the question on, the child with the greatest select(value, N, n), until a leaf; the search
                       ends at a leaf with value >= gate, without a gate at a finished leaf
            expand     an unfinished leaf: `children` next turns; value = judge's score of the last turn, and
                       `first_visits` visits
            roll       continue children, see `Roll`; n = max(n, 1)
            back up    leaf and its ancestors: value = back_up(value, children), visits += 1
        the answer is the leaf that ended the search; else by `answer`. An unfinished leaf is played to its end.

    A node is forked from its tokens and its environment's state. Turns of a roll are no nodes. Ties go to the first.

    Args:
        judge: score of the last turn of a partial or finished trajectory is the value of the node.
        select, back_up: see their types.
        children: of an expansion, >= 1.
        first_visits: of a new child.
        distinct: leave out a next turn with the text of an earlier sibling; its tokens count.
        roll: see `Roll`; None: no roll.
        gate: least value of a leaf that ends the search.
        answer: "best", the leaf with the greatest value, or "path", from the question on the child with the greatest
            value.
        iterations: >= 1.
        tokens: sampled by the whole tree, checked before each iteration; the last iteration and the end of the answer
            may exceed the number.
        max_turns: turns or `Rules`, per trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the trajectory of the answer, which has
        `notes["search_answer"]`, then all others; the unfinished ones ended as stopped. `notes["search"]` lists visits
        and value of each turn that is a node, `notes["search_root"]` those of the question. One rollout is a whole
        group: `group_size=1`. A child without a turn, without a score (NaN) or with a failed environment is left out;
        an InfrastructureError or VerifierError of the judge ends the search without an answer.

    Raises:
        InputError: a number out of range, or an environment without snapshots or with a limit on open environments.

    Example:
        children with values 0.2 and 0.7, of which the second rolls to 0.9 with weight 0.5: value 0.8, and the question
        has the value 0.8 by `visit_mean()`

    Idea: Monte-Carlo tree search with a value model, as in arXiv:2406.03816 (ReST-MCTS*) and arXiv:2501.11223 (x1).
    """
    if min(children, iterations) < 1 or (tokens is not None and tokens < 1):
        raise InputError(
            f"value_search has children={children}, iterations={iterations} and tokens={tokens}; give 1 or more"
        )
    if answer not in ("best", "path") or first_visits not in (0, 1):
        raise InputError(f"answer is 'best' or 'path' and first_visits 0 or 1, not {answer!r} and {first_visits}")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        rounds = Rounds()
        tree = ValueTree(
            rounds, Node(Play(attempt, rules)), judge, select, back_up, children, first_visits, distinct, roll
        )
        chosen: Node | None = None
        given_up: list[str] = []
        try:
            yield from rounds.open(tree.root.play)
            if rounds.active:
                chosen = yield from tree.search(iterations, tokens, gate)
                chosen = chosen or tree.best(answer)
            if chosen is not None:
                yield from tree.finish(chosen)
            given_up = [play.attempt.id for play in rounds.active]
            for play in rounds.active:
                yield from rounds.drop(play)
        except Stopped:
            yield from rounds.stop()
        finally:
            rounds.close()
        return _ordered(rounds.trajectories, given_up, tree.root, chosen)

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


def _ordered(
    trajectories: Sequence[Trajectory], given_up: Sequence[str], root: Node, chosen: Node | None
) -> list[Trajectory]:
    """Put the answer first, and add the notes."""
    own = None if chosen is None else chosen.play.attempt.id
    order = sorted(trajectories, key=lambda one: one.id != own)
    nodes = {node.play.turns[node.depth - 1].seed: node for node in root.below if len(node.play.turns) >= node.depth}
    question = {"visits": root.visits, "value": root.value}
    found = []
    for one in attach_branches(order, given_up):
        said = []
        for turn in one.turns:
            if turn.seed not in nodes:
                break
            said.append({"visits": nodes[turn.seed].visits, "value": nodes[turn.seed].value})
        notes = {**one.notes, SEARCH: said, ROOT: question, CHOSEN: one.id == own}
        found.append(replace(one, notes=notes))
    return found
