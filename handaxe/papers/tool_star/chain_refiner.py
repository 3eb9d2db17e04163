"""Inference tool: prunes redundant exchanges of a chain at the limit of turns, and goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Message, Status
from handaxe.ops.turn_positions import initial_messages
from handaxe.rollouts.play import Continuation, Play, Rules

__all__ = ["Exchange", "pruned", "refined_chain"]

NOTE = "refined"
"""Key of the notes with the number of exchanges that each refinement removed."""
SOUND = frozenset({"ok", "infra_error"})
"""Statuses for which the policy is not at fault."""


class Exchange(NamedTuple):
    """Turn of the policy with the replies to its calls, and their statuses."""

    said: Message
    replies: tuple[Message, ...]
    statuses: tuple[Status, ...]


def refined_chain(*, max_turns: int, refinements: int = 2) -> Rules:
    """Create limits of a rollout: at the limit of turns the chain is pruned, and the rollout goes on.

    A turn without a call counts as redundant: not for conversations with a user.

        chain of max_turns exchanges, some redundant     a new sequence: the opening, and the others
        chain of max_turns exchanges, none redundant     ends as truncated, by turns

    Args:
        max_turns: turns of a chain, >= 1; turns removed from the chain do not count.
        refinements: of a rollout, >= 1.

    Returns:
        Rules, for a strategy with the argument `max_turns` and no continuation of its own. notes["refined"] lists the
        number of exchanges that each refinement removed.

    Raises:
        InputError: a number out of range.

    Example:
        two turns, "12*" fails and "12*34" returns 408: the next turn reads question, "12*34" and 408, and answers

    Paper: arXiv:2505.16410 (Tool-Star), reasoning chain refiner, an inference tool.
    Unconfirmed: what is removed, and when, from memory; the number of refinements.
    Differs: a rule prunes by `pruned`, where the paper has a language model; the limit is one of turns instead of
    tokens.
    """
    if max_turns < 1 or refinements < 1:
        raise InputError(f"max_turns is {max_turns} and refinements {refinements}; give 1 or more each")

    def refine(play: Play) -> Continuation:
        opening = initial_messages(play.messages, turns=len(play.turns))
        chain = _exchanges(play, play.history[len(opening) :])
        if len(chain) < max_turns:
            return Continuation()
        kept = pruned(chain)
        removed = play.notes.get(NOTE, [])
        if len(kept) == len(chain) or len(removed) == refinements:
            return Continuation(ending=Ending("truncated", "turns"))
        play.notes[NOTE] = [*removed, len(chain) - len(kept)]
        return Continuation(new_sequence=(*opening, *(message for one in kept for message in (one.said, *one.replies))))

    return Rules(max_turns=max_turns * (1 + refinements), continuation=refine)


def pruned(chain: Sequence[Exchange]) -> list[Exchange]:
    """Remove exchanges without a call, with a failed call, or with the calls of an earlier kept exchange.

    Example:
        calls a (failed), b, c, b  ->  b, c
    """
    kept, seen = list[Exchange](), set[str]()
    for one in chain:
        calls = json.dumps([[call.name, dict(call.arguments)] for call in one.said.calls], sort_keys=True)
        if one.said.calls and SOUND.issuperset(one.statuses) and calls not in seen:
            kept.append(one)
            seen.add(calls)
    return kept


def _exchanges(play: Play, messages: Sequence[Message]) -> list[Exchange]:
    """Exchanges of the current chain; the replies to the last turn are not in the conversation yet."""
    status = {reply.call_id: reply.status for turn in play.turns for reply in turn.replies}
    found = list[Exchange]()
    for message in messages:
        if message.role == "assistant":
            found.append(Exchange(message, (), tuple(status.get(call.id, "ok") for call in message.calls)))
        elif found:
            found[-1] = found[-1]._replace(replies=(*found[-1].replies, message))
    last = [Message("tool", r.content, call_id=r.call_id, name=r.name, images=r.images) for r in play.turns[-1].replies]
    found[-1] = found[-1]._replace(replies=tuple(last))
    return found
