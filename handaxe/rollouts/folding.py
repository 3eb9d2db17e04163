"""A rollout whose policy may fold its memory: it goes on in a new sequence, from the task and what it noted."""

from collections.abc import Generator
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message
from handaxe.core.requests import Attempt
from handaxe.ops.turn_positions import initial_messages
from handaxe.rollouts.budget import Budget, BudgetMessage
from handaxe.rollouts.play import Continuation, Play, Request, Rules

__all__ = ["SPEAKER", "folding"]

SPEAKER = "memory"
"""The name on the user messages that hold a folded memory, or ask for one."""


def folding(
    *,
    tool: str = "fold_memory",
    fold_at: float | None = None,
    max_turns: int = 8,
    budget: Budget | None = None,
    tell_budget: bool | BudgetMessage = False,
) -> Rollout:
    """Play like `linear`, and begin a new sequence wherever the policy folds its memory.

        sequence 0   opening + a0 + r0 + a1 + r1 + a2          a2 calls fold_memory(summary)
        sequence 1   opening + memory + a3 + r3 + ...          memory: a user message that quotes the summary

    The environment offers the tool and carries it out like any other (`tools.fold_memory`), so that the format knows
    the call and the record has it. Both sequences belong to one trajectory: reward, statistics and denominators count
    it once, a2 trains as sampled, and the quoted memory, which is the format's rendering and never a control token,
    does not train. Replies to other calls of the folding turn are not read again. A call that is malformed, fails, or
    is the last that turns and budget allow folds nothing. Turns and budget count over all sequences.

    Args:
        tool: name of the tool that folds; its argument `summary` is the memory.
        fold_at: share of the context, in (0, 1], from which on the policy is asked once a sequence, in a user message
            after the reply, to fold now. It may still do otherwise. None: it is never asked.
        max_turns, budget, tell_budget: as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Its notes["anew"] has an
        entry a fold; see `rollouts.play.history`.

    Raises:
        InputError: a limit out of range, or an environment that does not offer the tool.

    Example:
        folding(max_turns=30, fold_at=0.75) with tool_chat([search, fold_memory])

    Paper: arXiv:2510.21618 (DeepAgent), autonomous memory folding. Unconfirmed: from memory of the paper.
    Differs: the memory is one text that the policy writes; the paper has an auxiliary model write three (episodic,
    working and tool memory). The policy may also be asked to fold.
    """
    if fold_at is not None and not 0 < fold_at <= 1:
        raise InputError(f"fold_at is {fold_at}; give a share of the context above 0 and up to 1, or None")

    def continuation(play: Play) -> Continuation:
        memory = _folded(play, tool)
        if memory is not None:
            return Continuation(new_sequence=(*initial_messages(play.messages, turns=len(play.turns)), memory))
        asks = fold_at is not None and len(play.sequences[-1].ids) >= fold_at * play.attempt.context
        asked = Message("user", f"Your context is nearly full. Call {tool} now.", name=SPEAKER)
        return Continuation(messages=(asked,) if asks and asked not in play.history else ())

    rules = Rules(max_turns=max_turns, budget=budget or Budget(), tell_budget=tell_budget, continuation=continuation)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.run(_turns(play, tool)))]

    return rollout


def _turns(play: Play, tool: str) -> Generator[Request, Any, Ending]:
    if tool not in {one.name for one in play.tools}:
        raise InputError(f"task {play.attempt.task.id!r}: the environment does not offer {tool!r}; add tools.{tool}")
    while (ending := (yield from play.turn())) is None:
        pass
    return ending


def _folded(play: Play, tool: str) -> Message | None:
    """The memory that the last turn folded, its last one where it folded twice; None where it did not."""
    turn = play.turns[-1]
    done = {reply.call_id for reply in turn.replies if reply.status == "ok"}
    folds = [call.arguments["summary"] for call in turn.parsed.calls if call.name == tool and call.id in done]
    return Message("user", f"Your memory: {folds[-1]}", name=SPEAKER) if folds else None
