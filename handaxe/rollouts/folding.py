"""Memory folding: the policy continues in a new sequence with the task and its summary.

Kept: users combine context folding with worlds of long texts.
"""

from collections.abc import Generator
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message
from handaxe.core.requests import Attempt
from handaxe.ops.turn_positions import initial_messages
from handaxe.rollouts.play import Continuation, Play, Request, Rules

__all__ = ["SPEAKER", "folding"]

SPEAKER = "memory"
"""Name of user messages with a folded memory, or with the request to fold."""


def folding(
    *,
    tool: str = "fold_memory",
    fold_at: float | None = None,
    max_turns: int | Rules = 8,
) -> Rollout:
    """Play like `linear`, and begin a new sequence at every call of the folding tool.

        sequence 0   opening + a0 + r0 + a1 + r1 + a2          a2 calls fold_memory(summary)
        sequence 1   opening + memory + a3 + r3 + ...          memory: a user message that quotes the summary

    The environment offers and executes the tool like any other (`tools.fold_memory`), so the chat format knows the call
    and the record holds it. Both sequences belong to one trajectory: reward, statistics and denominators count it once.
    a2 trains as sampled; the quoted memory is rendered by the chat format without control tokens and does not train.
    Replies to other calls of the folding turn are left out of the new sequence. A call folds nothing if it is
    malformed, fails, or uses up turns or budget. Turns and budget count over all sequences.

    Args:
        tool: name of the folding tool; its argument `summary` is the memory.
        fold_at: share of the context, in (0, 1]. Above it, a user message after the reply asks the policy to fold, once
            per sequence; the policy may ignore it. None sends no message.
        max_turns: turns or `Rules`, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Its notes["anew"] has one
        entry per fold; see `rollouts.play.history`.

    Raises:
        InputError: a limit out of range, or an environment without the tool.

    Example:
        folding(max_turns=30, fold_at=0.75) with tool_chat([search, fold_memory])

    Paper: arXiv:2510.21618 (DeepAgent), autonomous memory folding. Unconfirmed: from memory of the paper.
    Differs: the memory is one text by the policy; in the paper an auxiliary model writes three (episodic,
    working and tool memory). The optional request to fold.
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

    rules = Rules.of(max_turns, continuation=continuation)

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
    """Memory of the last turn's last successful fold; None without a fold."""
    turn = play.turns[-1]
    done = {reply.call_id for reply in turn.replies if reply.status == "ok"}
    folds = [call.arguments["summary"] for call in turn.parsed.calls if call.name == tool and call.id in done]
    return Message("user", f"Your memory: {folds[-1]}", name=SPEAKER) if folds else None
