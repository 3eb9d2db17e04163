"""How long an attempt may go on, and what a play begins from where it does not begin at the start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Message, Spent, ToolSchema, Turn
from handaxe.core.requests import Completion, Partial
from handaxe.rollouts.budget import Budget, Tell
from handaxe.rollouts.play.asking import OtherTurn
from handaxe.rollouts.play.env_session import State
from handaxe.rollouts.play.history import Following
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

if TYPE_CHECKING:
    from handaxe.rollouts.play.play import Play

__all__ = ["Beginning", "Mark", "Rules", "UNBOUNDED"]

UNBOUNDED = Budget()


@dataclass(frozen=True)
class Rules:
    """How long an attempt may go on; `linear` says what each means. `snapshots` keeps the environment's state from
    before every turn, so that the play can be forked or rewound. `following` is asked after every answer that another
    turn can follow, and before that is written to the sequence."""

    max_turns: int = 4
    budget: Budget = UNBOUNDED
    tell_budget: bool | Tell = False
    snapshots: bool = False
    following: Callable[[Play], Following] | None = None

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise InputError(f"max_turns is {self.max_turns}; give 1 or more")


class Mark(NamedTuple):
    """What there was before a turn: so many messages, the environment in this state (None: not asked for), these notes
    of the strategy, and so much said by others."""

    messages: int
    state: State | None
    notes: dict[str, Any]
    said: int = 0


class Beginning(NamedTuple):
    """What a fork shares with the play it leaves; see `rollouts.play.fork`. `begun` is the first part of the next turn,
    or all of it where `whole` says how that turn ended; `forced` are the places in it of ids that the policy did not
    draw. `branch` is None for a play that goes on, see `rollouts.play.continued`. `again` where there is no state to go
    back to: the environment is brought there by answering the recorded turns once more, and this much of what the play
    uses up was not used up by it (see `rollouts.rewind`)."""

    branch: Branch | None
    messages: list[Message]
    tools: tuple[ToolSchema, ...]
    turns: list[Turn]
    sequences: list[SequenceBuilder]
    marks: list[Mark]
    begun: Partial | None = None
    whole: Turn | None = None
    said: list[OtherTurn] | None = None
    again: Spent | None = None
    forced: tuple[int, ...] = ()

    def spoken(self, limit: int) -> Completion | None:
        """The next turn, where nothing of it is left to sample: all of it is shared, or forced words fill `limit`."""
        if self.begun is None:
            return None
        if self.whole is not None:
            return Completion(*self.begun, self.whole.finish, self.whole.seconds, self.whole.cost)
        if len(self.begun.ids) < limit:
            return None
        begun = self.begun
        logp, behaviour_logp = begun.logp[:limit], begun.behaviour_logp[:limit]
        return Completion(begun.ids[:limit], logp, behaviour_logp, begun.version[:limit], "length")
