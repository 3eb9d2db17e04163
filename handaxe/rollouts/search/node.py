"""Node of a search tree: the state of a rollout after a turn, with its statistics."""

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

__all__ = ["Node", "fork_point", "grow"]


@dataclass(eq=False)
class Node:
    """State after turn `depth - 1` of a play, which may have advanced since; depth 0 is the question.

    visits, value   number of back-ups to the node, and their sum, or with `value_search` its value
    verdict         a judge's verdict on its turn, NaN without one
    dead            unusable: its turn was never played, or the result could not be scored
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
        """True if the rollout ended here."""
        return self.play.done and len(self.play.turns) <= self.depth

    @property
    def closed(self) -> bool:
        """True if nothing below the node is left to explore."""
        if self.children:
            return all(one.closed for one in self.children)
        return self.dead or (self.terminal and self.visits > 0)

    @property
    def below(self) -> list[Node]:
        """All nodes below this one, parents before children."""
        return [node for child in self.children for node in (child, *child.below)]

    @property
    def path(self) -> list[Node]:
        """Nodes from the root to this one."""
        return [self] if self.parent is None else [*self.parent.path, self]


def fork_point(node: Node) -> Branch:
    """Return the fork point of its play for another continuation from this state."""
    play = node.play
    if len(play.turns) > node.depth:
        turn = play.turns[node.depth]
        return Branch(play.attempt.id, turn.sequence, turn.start)
    last = len(play.sequences) - 1
    return Branch(play.attempt.id, last, len(play.sequences[last].ids))


def grow(rounds: Rounds, node: Node, count: int) -> Generator[Request, Any, None]:
    """Give a node `count` children, each a next turn with a separate seed, played concurrently.

    The first child continues the play that waits in this state, if any; the others are forks, each with the environment
    in this state.
    """
    waits = len(node.play.turns) == node.depth and not node.play.done
    plays = [node.play] if waits else []
    first = rounds.plays[0].attempt
    while len(plays) < count:
        number = len(rounds.plays)
        seed = derive_seed(first.seed, "node", number)
        plays.append(fork(node.play, fork_point(node), id=f"{first.id}/{number}", seed=seed))
        rounds.add(plays[-1])
    yield from rounds.next(only=plays)
    depth = node.depth + 1
    node.children = [Node(play, depth, node, dead=len(play.turns) < depth) for play in plays]
