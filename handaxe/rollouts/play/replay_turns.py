"""Restore an environment's state by replaying recorded turns."""

from collections.abc import Generator, Sequence
from typing import Any

from handaxe.core.protocols import Env
from handaxe.core.records import Ending, Message
from handaxe.core.requests import Act, EnvReply
from handaxe.ops.turn_positions import turn_positions
from handaxe.rollouts.play.env_session import Opened
from handaxe.rollouts.play.rules import Beginning

__all__ = ["replay_turns"]


def replay_turns(beginning: Beginning, opened: Opened, env: Env) -> Generator[Act, EnvReply, Ending | None]:
    """Replay the turns of a beginning with the recorded seeds, if asked for; one Act per turn.

    Args:
        beginning: its `turns` and `messages` are the record.
        opened: the environment's opening.
        env: the environment.

    Returns:
        None, or an infra_error for the rollout if any reply differs from the record, since the state then differs.
        Seconds and costs of replies may differ.

    Example:
        recorded [user go] [policy a] [tool 1] [policy b] ...; the replay of a with its seed gives [tool 2]  ->
            infra_error

    Idea: an environment with equal replies to equal turns and seeds is in the recorded state.
    """
    if beginning.replayed is None:
        return None
    places = turn_positions(beginning.messages, turns=len(beginning.turns))
    first = places[0] if places else len(beginning.messages)
    if opened.tools != beginning.tools or not _same(beginning.messages[:first], opened.messages):
        return _another("it is opened", "its start")
    ends = [*places, len(beginning.messages)][1:]
    for k, (turn, place, end) in enumerate(zip(beginning.turns, places, ends)):
        reply: EnvReply = yield Act(env, turn.parsed, turn.seed)
        if _told(reply.replies) != _told(turn.replies) or not _same(
            beginning.messages[place + 1 : end], reply.messages
        ):
            return _another(f"turn {k} is answered", f"its turn {k}", reply)
        if reply.done or reply.aux_request is not None or dict(reply.facts) != dict(turn.facts):
            return _another(f"turn {k} leaves another state, or is the last", f"its turn {k}", reply)
    return None


def _told(replies: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(one.call_id, one.name, one.content, one.status, one.images) for one in replies]


def _same(recorded: Sequence[Message], said: Sequence[Message]) -> bool:
    """Return True if the environment's messages equal the recorded ones; recorded messages of a strategy may follow."""
    own = recorded[len(said) :]
    return list(recorded[: len(said)]) == list(said) and all(one.role == "user" and one.name for one in own)


def _another(what: str, when: str, reply: EnvReply | None = None) -> Ending:
    """Ending of a rollout whose environment departs from the record."""
    if reply is not None and reply.ending is not None and reply.ending.kind == "infra_error":
        return reply.ending
    return Ending("infra_error", f"the recorded state cannot be reached again: {what} otherwise than at {when}")
