"""Tree of `value_search`: selection, expansion, evaluation by a judge, and back-up."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from math import isnan
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InfrastructureError, VerifierError
from handaxe.core.protocols import StepJudge
from handaxe.core.records import Group, Trajectory
from handaxe.core.requests import Stopped, Work
from handaxe.rollouts.play import Play, Request
from handaxe.rollouts.play.rounds import Rounds
from handaxe.rollouts.search.node import Node, grow
from handaxe.rollouts.search.uct import Select

__all__ = ["Answer", "ChildBackUp", "Roll", "ValueTree"]

Answer = Literal["best", "path"]
"""Choice of the answer of a search: the best leaf, or the path of the best children."""
ChildBackUp = Callable[[float, Sequence[tuple[float, int]]], float]
"""(value of a node, (value, visits) of its children) -> new value of the node."""


class Roll(NamedTuple):
    """Continuation of new children by the policy, for better values.

        v <- (1 - weight) v + weight max(judge's scores of the continued turns)      with `last`: of the last turn

    turns   maximum number of turns
    weight  0 to 1
    every   continue all new children instead of the one with the greatest priority
    last    take the score of the last turn instead of the maximum
    """

    turns: int = 3
    weight: float = 0.5
    every: bool = False
    last: bool = False


class ValueTree:
    """Tree in progress; see `value_search`. `sampled` is the number of sampled tokens."""

    def __init__(
        self,
        rounds: Rounds,
        root: Node,
        judge: StepJudge,
        select: Select,
        back_up: ChildBackUp,
        children: int,
        first_visits: int,
        distinct: bool,
        roll: Roll | None,
    ):
        self.rounds = rounds
        self.root = root
        self.sampled = 0
        self._judge = judge
        self._select = select
        self._back_up = back_up
        self._children = children
        self._first_visits = first_visits
        self._distinct = distinct
        self._roll = roll

    def search(self, iterations: int, tokens: int | None, gate: float | None) -> Generator[Request, Any, Node | None]:
        """Grow the tree; returns the leaf that ended the search, or None."""
        for _ in range(iterations):
            if self.root.dead or (tokens is not None and self.sampled >= tokens):
                return None
            leaf = self._leaf()
            if leaf is not self.root and (leaf.terminal if gate is None else leaf.value >= gate):
                return leaf
            if not leaf.terminal:
                yield from self._expand(leaf)
            for node in reversed(leaf.path):
                own = [(child.value, child.visits) for child in node.children if not child.dead]
                node.value = self._back_up(node.value, own) if own else node.value
                node.visits += 1
        return None

    def best(self, answer: Answer) -> Node | None:
        """The leaf with the answer; None for a tree without a usable child."""
        if answer == "path":
            node = self.root
            while usable := [child for child in node.children if not child.dead]:
                node = max(usable, key=lambda child: child.value)
            return None if node is self.root else node
        leaves = [node for node in self.root.below if not node.dead and not node.children]
        return max(leaves, key=lambda node: node.value, default=None)

    def finish(self, leaf: Node) -> Generator[Request, Any, None]:
        """Play a leaf to the end of its rollout."""
        while not leaf.play.done:
            yield from self._advance([leaf.play])

    def _leaf(self) -> Node:
        node = self.root
        while usable := [child for child in node.children if not child.dead]:
            node = max(usable, key=partial(self._priority, node.visits))
        return node

    def _priority(self, visits: int, child: Node) -> float:
        return self._select(child.value, visits, child.visits)

    def _expand(self, leaf: Node) -> Generator[Request, Any, None]:
        yield from grow(self.rounds, leaf, self._children)
        self.sampled += sum(_tokens(child.play, leaf.depth) for child in leaf.children)
        if self._distinct:
            _leave_out_copies(leaf)
        new = [child for child in leaf.children if not child.dead]
        scores = yield from self._scores([child.play for child in new])
        for child, score in zip(new, scores, strict=True):
            child.value = score
            child.visits = self._first_visits
            child.dead = isnan(score)
        new = [child for child in new if not child.dead]
        if new and self._roll is not None:
            rolled = new if self._roll.every else [max(new, key=partial(self._priority, leaf.visits))]
            yield from self._roll_forward(rolled, self._roll)
        for node in reversed(leaf.path):
            node.dead = bool(node.children) and all(child.dead for child in node.children)

    def _roll_forward(self, nodes: Sequence[Node], roll: Roll) -> Generator[Request, Any, None]:
        found: dict[Node, list[float]] = {node: [] for node in nodes}
        for _ in range(roll.turns):
            active = [node for node in nodes if not node.play.done]
            if not active:
                break
            yield from self._advance([node.play for node in active])
            read = [node for node in active if node.play.done] if roll.last else active
            scores = yield from self._scores([node.play for node in read])
            for node, score in zip(read, scores, strict=True):
                found[node] += [] if isnan(score) else [score]
        for node, own in found.items():
            if own:
                node.value = (1 - roll.weight) * node.value + roll.weight * (own[-1] if roll.last else max(own))
            node.visits = max(node.visits, 1)

    def _advance(self, plays: Sequence[Play]) -> Generator[Request, Any, None]:
        before = [len(play.turns) for play in plays]
        yield from self.rounds.next(only=plays)
        self.sampled += sum(_tokens(play, turns) for play, turns in zip(plays, before, strict=True))

    def _scores(self, plays: Sequence[Play]) -> Generator[Request, Any, list[float]]:
        """Scores of the last turns; NaN after a failure of the environment."""
        if not plays:
            return []
        ended = {one.id: one for one in self.rounds.trajectories}
        given = [ended.get(play.attempt.id) or play.partial_trajectory() for play in plays]
        try:
            scores: list[float] = yield Work(partial(_last_scores, self._judge, given))
        except (InfrastructureError, VerifierError) as error:
            raise Stopped from error
        return [float("nan") if one.ending.kind == "infra_error" else score for one, score in zip(given, scores)]


def _leave_out_copies(leaf: Node) -> None:
    """Mark children whose turn repeats the text of an earlier sibling as dead."""
    seen = set[str]()
    for child in leaf.children:
        if not child.dead:
            text = child.play.turns[leaf.depth].parsed.raw
            child.dead = text in seen
            seen.add(text)


def _tokens(play: Play, turns: int) -> int:
    """Sampled tokens of a play after its first turns."""
    return sum(turn.stop - turn.start for turn in play.turns[turns:])


def _last_scores(judge: StepJudge, given: Sequence[Trajectory]) -> list[float]:
    found = judge.score_steps(Group(given[0].task, tuple(given)))
    return [float(own[-1]) if len(own) else float("nan") for own in found]
