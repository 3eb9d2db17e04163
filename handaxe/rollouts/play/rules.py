"""Limits and options of a play, and parts shared between plays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Message, ToolSchema, Turn
from handaxe.core.requests import Completion, Partial
from handaxe.core.usage import Usage
from handaxe.rollouts.budget import Budget, BudgetMessage
from handaxe.rollouts.play.aux_turns import AuxTurn
from handaxe.rollouts.play.env_session import State
from handaxe.rollouts.play.history import Continuation
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

if TYPE_CHECKING:
    from handaxe.rollouts.play.play import Play

__all__ = ["Beginning", "Mark", "Rules", "UNBOUNDED"]

UNBOUNDED = Budget()


@dataclass(frozen=True)
class Rules:
    """Limits and options of a play; `linear` documents the first three. A strategy sets the others.

    snapshots     take a snapshot of the environment before every turn, for forks and `Takeback`
    continuation  called after every reply with a possible next turn, before the reply joins the sequence

    Raises:
        InputError: max_turns is below 1.

    Example:
        forking(at=turn_starts(), max_turns=Rules(max_turns=4, budget=Budget(tokens=512), tell_budget=True))
    """

    max_turns: int = 4
    budget: Budget = UNBOUNDED
    tell_budget: bool | BudgetMessage = False
    snapshots: bool = False
    continuation: Callable[[Play], Continuation] | None = None

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise InputError(f"max_turns is {self.max_turns}; give 1 or more")

    @classmethod
    def of(
        cls,
        limits: int | Rules,
        *,
        snapshots: bool = False,
        continuation: Callable[[Play], Continuation] | None = None,
    ) -> Rules:
        """Return the rules of a strategy from its `max_turns`: a number of turns, or the user's `Rules`.

        A continuation of the user stays if the strategy has none.
        """
        rules = Rules(max_turns=limits) if isinstance(limits, int) else limits
        return replace(rules, snapshots=snapshots, continuation=continuation or rules.continuation)


class Mark(NamedTuple):
    """State of a play before a turn: number of messages, the environment's snapshot (None without snapshots), the
    strategy's notes, and number of auxiliary turns."""

    messages: int
    state: State | None
    notes: dict[str, Any]
    aux_turns: int = 0


class Beginning(NamedTuple):
    """Part shared by two plays; see `rollouts.play.fork`.

    branch    None for a play that continues a trajectory, see `rollouts.play.continue_trajectory`
    prefix    first part of the next turn, or the whole turn if `ended` is set
    ended     the shared turn, with its finish
    replayed  usage to take off the account of a play without a snapshot: its environment replays the recorded turns,
              whose sampling was paid before (see `rollouts.rewind`)
    forced    positions of FORCED ids in `prefix`
    """

    branch: Branch | None
    messages: list[Message]
    tools: tuple[ToolSchema, ...]
    turns: list[Turn]
    sequences: list[SequenceBuilder]
    marks: list[Mark]
    prefix: Partial | None = None
    ended: Turn | None = None
    aux_turns: list[AuxTurn] | None = None
    replayed: Usage | None = None
    forced: tuple[int, ...] = ()

    def completion(self, limit: int) -> Completion | None:
        """Return the next turn if no token of it is left to sample: the whole turn is shared, or forced tokens fill
        `limit`.
        """
        if self.prefix is None:
            return None
        if self.ended is not None:
            return Completion(*self.prefix, self.ended.finish, self.ended.seconds, self.ended.cost)
        if len(self.prefix.ids) < limit:
            return None
        given = self.prefix
        logp, behaviour_logp = given.logp[:limit], given.behaviour_logp[:limit]
        return Completion(given.ids[:limit], logp, behaviour_logp, given.version[:limit], "length")
