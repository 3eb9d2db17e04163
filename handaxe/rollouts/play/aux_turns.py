"""Turns of auxiliary policies in a rollout: replies to requests of its environment, such as a simulated user's, and of
its strategy, such as an adviser's."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.images import message_images
from handaxe.core.protocols import Env, OnAuxReply
from handaxe.core.records import (
    Ending,
    Message,
    ParsedTurn,
    ToolCall,
    ToolSchema,
    Trajectory,
    Turn,
)
from handaxe.core.requests import Act, Attempt, AuxRequest, Completion, EnvReply, Sample
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

__all__ = ["AuxTurn", "answer_aux_requests", "aux_trajectories", "sample_aux_turn"]

MOST = 64
"""Limit on an environment's requests during one turn of the policy, against endless loops."""


class AuxTurn(NamedTuple):
    """Turn of an auxiliary policy: tokens, and the conversation from the side of this policy, up to the turn."""

    by: str
    sequence: SequenceBuilder
    turn: Turn
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]


def answer_aux_requests(
    attempt: Attempt, env: Env, reply: EnvReply, *, seed: int, aux_turns: list[AuxTurn]
) -> Generator[Sample | Act, Any, EnvReply]:
    """Let auxiliary policies answer an environment's requests until a reply has none.

        reply.aux_request --format--> ids --Sample(by=)--> turn --env.on_aux_reply--> next reply

    Tokens are sampled as a policy's are and stand in no sequence of the rollout: each turn joins `aux_turns`. A turn
    that was cut makes no calls.

    Args:
        attempt: `aux_policies` has the chat format and sampling of each.
        env: implements `core.protocols.OnAuxReply`.
        reply: reply to the policy's turn.
        seed: of the policy's turn; the n-th auxiliary turn of the rollout samples with derive_seed(seed, name, n).
        aux_turns: auxiliary turns of the rollout so far; grows.

    Returns:
        One reply: messages, replies and facts of all, ending and `done` of the last. An infra_error if an auxiliary
        policy cannot answer: its conversation exceeds its context, its engine failed, or requests exceed the limit.

    Raises:
        InputError: the attempt lacks the engine, or the environment lacks `on_aux_reply`.
    """
    requests = 0
    while reply.aux_request is not None and not reply.done:
        request = reply.aux_request
        if request.by not in attempt.aux_policies or not isinstance(env, OnAuxReply):
            lacking = "it lacks on_aux_reply(turn, seed)"
            if isinstance(env, OnAuxReply):
                lacking = f"give aux_policies={{{request.by!r}: AuxPolicy(...)}}"
            raise InputError(f"the environment of task {attempt.task.id!r} asks {request.by!r}: {lacking}")
        requests += 1
        if requests > MOST:
            ending = _cannot_answer(request.by, f"it was asked more than {MOST} times")
            return reply._replace(done=True, ending=ending, aux_request=None)
        draw = derive_seed(seed, request.by, len(aux_turns))
        parsed = yield from sample_aux_turn(attempt, request, seed=draw, aux_turns=aux_turns)
        if isinstance(parsed, Ending):
            return reply._replace(done=True, ending=parsed, aux_request=None)
        more: EnvReply = yield Act(_Listener(env), parsed, seed, request.by)  # type: ignore[arg-type]
        reply = more._replace(
            messages=(*reply.messages, *more.messages),
            replies=(*reply.replies, *more.replies),
            facts={**reply.facts, **more.facts},
        )
    return reply


def sample_aux_turn(
    attempt: Attempt, request: AuxRequest, *, seed: int, aux_turns: list[AuxTurn]
) -> Generator[Sample, Any, ParsedTurn | Ending]:
    """Sample the turn of an auxiliary policy.

    Args:
        attempt: its `aux_policies` have the policy of the request.
        request: conversation from the side of the policy.
        seed: of the draws.
        aux_turns: auxiliary turns of the rollout so far; grows.

    Returns:
        The turn, without calls if it was cut; an infra_error if the conversation exceeds the context of the policy, or
        its engine failed.

    Example:
        request "2+2?" to "small", which samples "4" -> ParsedTurn("4"), and `aux_turns` has one entry more

    Idea: environment and strategy ask auxiliary policies in one way, so that records and failures are the same.
    """
    by, messages, tools = request
    chat, own = attempt.aux_policies[by], sum(one.by == by for one in aux_turns)
    sequence = SequenceBuilder(chat.format.start(messages, tools))
    limit = min(chat.sampling.max_tokens, chat.context - len(sequence.ids))
    if limit <= 0:
        return _cannot_answer(by, "its conversation does not fit its context")
    sampling, images = replace(chat.sampling, max_tokens=limit), message_images(messages)
    stop, header = chat.format.stop_ids, chat.format.header_ids
    try:
        completion: Completion = yield Sample(sequence.ids[:], sampling, seed, stop, header, own, by=by, images=images)
    except InfrastructureError as error:
        return _cannot_answer(by, str(error))
    turn = _turn(sequence, completion, chat.format.parse(completion.ids, tools), own, chat.sampling, seed)
    conversation = (*messages, Message("assistant", turn.parsed.text, turn.parsed.calls))
    aux_turns.append(AuxTurn(by, sequence, turn, conversation, tuple(tools)))
    return turn.parsed


def _cannot_answer(by: str, reason: str) -> Ending:
    return Ending("infra_error", f"{by!r} cannot answer: {reason}")


def _turn(
    builder: SequenceBuilder, completion: Completion, read: ParsedTurn, own: int, sampling: Any, seed: int
) -> Turn:
    start, stop = builder.append_sampled(completion, turn=own)
    calls = () if completion.finish == "length" else read.calls
    parsed = replace(read, calls=tuple(ToolCall(c.name, c.arguments, f"t{own}{c.id}") for c in calls))
    seconds, cost = completion.seconds, completion.cost
    return Turn(own, start, stop, parsed, completion.finish, sampling, seed, seconds=seconds, cost=cost)


class _Listener:
    """Environment with `on_aux_reply` as its step."""

    def __init__(self, env: OnAuxReply):
        self.env = env

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return self.env.on_aux_reply(turn, seed=seed)


def aux_trajectories(attempt: Attempt, aux_turns: Sequence[AuxTurn]) -> tuple[Trajectory, ...]:
    """Make one trajectory per auxiliary policy of a rollout, with one sequence per turn."""
    found = []
    for by in dict.fromkeys(one.by for one in aux_turns):
        own = [one for one in aux_turns if one.by == by]
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
