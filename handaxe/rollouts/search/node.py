"""A state of an attempt in a tree: what was said and answered up to a turn, and what came of those who went on."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from math import nan
from typing import Any

from handaxe.core.records import Branch
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play import Play, Request
from handaxe.rollouts.play.fork import fork
from handaxe.rollouts.play.rounds import Rounds

__all__ = ["Node", "grow", "place_of"]


@dataclass(eq=False)
class Node:
    """The state after turn `depth - 1` of a play, which may have gone on since; depth 0 is the question.

    visits, value   how often something was backed up to it, and the sum of that
    verdict         what a judge said of its turn, NaN where nobody was asked
    dead            nothing can be learned here: its turn was never played, or what came of it could not be scored
    """

    play: Play
    depth: int = 0
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    visits: int = 0
    value: float = 0.0
    verdict: float = nan
    dead: bool = False

    @property
    def terminal(self) -> bool:
        """Whether the attempt is over here."""
        return self.play.done and len(self.play.turns) <= self.depth

    @property
    def closed(self) -> bool:
        """Whether there is nothing left to do below it."""
        if self.children:
            return all(one.closed for one in self.children)
        return self.dead or (self.terminal and self.visits > 0)

    @property
    def path(self) -> list[Node]:
        """From the root to this node."""
        return [self] if self.parent is None else [*self.parent.path, self]


def place_of(node: Node) -> Branch:
    """Where its play is left to go on from this state in another way."""
    play = node.play
    if len(play.turns) > node.depth:
        turn = play.turns[node.depth]
        return Branch(play.attempt.id, turn.sequence, turn.start)
    last = len(play.sequences) - 1
    return Branch(play.attempt.id, last, len(play.sequences[last].ids))


def grow(rounds: Rounds, node: Node, count: int) -> Generator[Request, Any, None]:
    """Give a node `count` children, each a next turn with a seed of its own, all played at the same time.

    A play that waits in this state is the first child's; the others are forks, each with the environment as it was.
    """
    waits = len(node.play.turns) == node.depth and not node.play.done
    plays = [node.play] if waits else []
    first = rounds.plays[0].attempt
    while len(plays) < count:
        number = len(rounds.plays)
        seed = derive_seed(first.seed, "node", number)
        plays.append(fork(node.play, place_of(node), id=f"{first.id}/{number}", seed=seed))
        rounds.add(plays[-1])
    yield from rounds.next(only=plays)
    depth = node.depth + 1
    node.children = [Node(play, depth, node, dead=len(play.turns) < depth) for play in plays]
