"""Lets another engine than the policy's answer what an environment asks, such as a simulated user."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import Env, OnAuxReply
from handaxe.core.records import Ending, Message, ParsedTurn, ToolCall, ToolSchema, Trajectory, Turn
from handaxe.core.requests import Act, Attempt, Completion, EnvReply, Sample
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

__all__ = ["OtherTurn", "hear", "of_others"]

MOST = 64
"""Most that an environment may ask before it answers a turn: beyond that it would go on for ever."""


class OtherTurn(NamedTuple):
    """What another engine said once: its tokens, and the conversation as it was shown to it, its own words last."""

    by: str
    sequence: SequenceBuilder
    turn: Turn
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]


def hear(
    attempt: Attempt, env: Env, reply: EnvReply, *, seed: int, said: list[OtherTurn]
) -> Generator[Sample | Act, Any, EnvReply]:
    """Have engines answer what an environment asks, until it asks no more.

        reply.asks --format of the other--> ids --Sample(by=)--> what it says --env.heard--> the next reply

    Its tokens are drawn as a policy's are, and stand in no sequence of the attempt: they are added to `said`. A turn of
    it that was cut makes no calls.

    Args:
        attempt: its `others` say who there is, and how each is spoken to.
        env: asked; implements `slots.Hears`.
        reply: its reply to the policy's turn.
        seed: of the policy's turn; the n-th draw of the attempt has derive_seed(seed, name, n).
        said: what others have said so far; it grows.

    Returns:
        One reply: messages, replies and facts of all of them, ending and `done` of the last. An infra_error where the
        other cannot speak: the conversation does not fit its context, its engine failed, or it is asked too often.

    Raises:
        InputError: the attempt knows no such engine, or the environment cannot hear it.
    """
    asked = 0
    while reply.asks is not None and not reply.done:
        by, messages, tools = reply.asks
        if by not in attempt.others or not isinstance(env, OnAuxReply):
            raise InputError(
                f"the environment of task {attempt.task.id!r} asks {by!r}: "
                + (
                    f"give others={{{by!r}: Speaker(...)}}"
                    if isinstance(env, OnAuxReply)
                    else "it lacks heard(turn, seed)"
                )
            )
        voice, number = attempt.others[by], len(said)
        sequence = SequenceBuilder(voice.format.start(messages, tools))
        limit = min(voice.sampling.max_tokens, voice.context - len(sequence.ids))
        asked += 1
        if limit <= 0 or asked > MOST:
            why = "its conversation does not fit its context" if limit <= 0 else f"it was asked more than {MOST} times"
            return reply._replace(done=True, ending=Ending("infra_error", f"{by!r} cannot answer: {why}"), asks=None)
        draw, sampling = derive_seed(seed, by, number), replace(voice.sampling, max_tokens=limit)
        stop, header = voice.format.stop_ids, voice.format.header_ids
        own = sum(one.by == by for one in said)
        try:
            completion: Completion = yield Sample(sequence.ids[:], sampling, draw, stop, header, own, by=by)
        except InfrastructureError as error:
            ending = Ending("infra_error", f"{by!r} cannot answer: {error}")
            return reply._replace(done=True, ending=ending, asks=None)
        turn = _turn(sequence, completion, voice.format.parse(completion.ids, tools), own, voice.sampling, draw)
        parsed, told = turn.parsed, tuple(messages)
        said.append(
            OtherTurn(by, sequence, turn, (*told, Message("assistant", parsed.text, parsed.calls)), tuple(tools))
        )
        more: EnvReply = yield Act(_Listener(env), parsed, seed, by)  # type: ignore[arg-type]
        reply = more._replace(
            messages=(*reply.messages, *more.messages),
            replies=(*reply.replies, *more.replies),
            facts={**reply.facts, **more.facts},
        )
    return reply


def _turn(builder: SequenceBuilder, said: Completion, read: ParsedTurn, own: int, sampling: Any, seed: int) -> Turn:
    start, stop = builder.append_sampled(said, turn=own)
    calls = () if said.finish == "length" else read.calls
    parsed = replace(read, calls=tuple(ToolCall(c.name, c.arguments, f"t{own}{c.id}") for c in calls))
    return Turn(own, start, stop, parsed, said.finish, sampling, seed, seconds=said.seconds, cost=said.cost)


class _Listener:
    """An environment whose step is to hear somebody else."""

    def __init__(self, env: OnAuxReply):
        self.env = env

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return self.env.heard(turn, seed=seed)


def of_others(attempt: Attempt, said: Sequence[OtherTurn]) -> tuple[Trajectory, ...]:
    """What each of the others said in an attempt, as a trajectory of its own: a sequence for each time it was asked."""
    found = []
    for by in dict.fromkeys(one.by for one in said):
        own = [one for one in said if one.by == by]
        found.append(
            Trajectory(
                id=f"{attempt.id}/{by}",
                task=attempt.task,
                sample=attempt.sample,
                turns=tuple(one.turn for one in own),
                sequences=tuple(one.sequence.build() for one in own),
                ending=Ending("completed"),
                messages=own[-1].messages,
                tools=own[-1].tools,
                seed=attempt.seed,
                seconds=sum(one.turn.seconds for one in own),
                by=by,
            )
        )
    return tuple(found)
