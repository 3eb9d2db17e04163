"""Conversion of conversations to trajectories, with the assistant as the policy."""

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import (
    Ending,
    Message,
    ParsedTurn,
    Sampling,
    Task,
    ToolCall,
    ToolReply,
    ToolSchema,
    Trajectory,
    Turn,
    check,
)
from handaxe.core.requests import Completion
from handaxe.rollouts.play.sequence_builder import SequenceBuilder

__all__ = ["trajectory_from_messages"]

SAMPLING = Sampling()


def trajectory_from_messages(
    format: ChatFormat,
    messages: Sequence[Message],
    tools: Sequence[ToolSchema] = (),
    *,
    task: Task | None = None,
    id: str = "scripted",
    sampling: Sampling = SAMPLING,
) -> Trajectory:
    """Build a trajectory whose turns are the assistant's messages, rendered by the code that renders rollouts.

    Each assistant message becomes the ids that a policy would sample for it, stop id included, so the mask equals a
    rollout's. Log-probs and versions are 0, since no policy sampled it: fit for SFT and DPO, not for importance ratios.

    Args:
        format: renders openings, turns and tool replies.
        messages: the whole conversation, ending with an assistant message. Ids of calls are made unique; replies
            without a call id follow the order of the calls.
        tools: offered tools.
        task: the task; None makes one of the opening messages.
        sampling: stored with the turns; its temperature divides logits in training.

    Raises:
        InputError: the last message is not the assistant's, or two assistant messages are adjacent.
    """
    first = next((i for i, message in enumerate(messages) if message.role == "assistant"), None)
    if first is None or messages[-1].role != "assistant":
        raise InputError(f"conversation {id!r} must end with what the assistant says; end it there")
    opening = list(messages[:first])
    sequences = [SequenceBuilder(format.start(opening, tools))]
    said, turns = list(opening), list[Turn]()
    for k, (message, answer) in enumerate(_exchanges(messages[first:], id)):
        asked, message = message.calls, replace(message, calls=_calls(message, k))
        answer = _answer(asked, message.calls, answer)
        ids = format.encode_turn(message, tools)
        zeros = [0.0] * len(ids)
        start, stop = sequences[-1].append_sampled(Completion(ids, zeros, zeros, [0] * len(ids), "stop"), turn=k)
        spans = format.parse(ids, tools).spans
        parsed = ParsedTurn(message.content, message.calls, (), format.decode(ids), spans)
        results = [one for one in answer if one.role == "tool"]
        replies = tuple(ToolReply(one.call_id, one.name, one.content, images=one.images) for one in results)
        turns.append(Turn(len(sequences) - 1, start, stop, parsed, "stop", sampling, 0, replies))
        said.append(message)
        if answer:
            part = format.extend(said, answer, ids, tools)
            said += answer
            if part.fresh:
                sequences.append(SequenceBuilder(part))
            else:
                sequences[-1].append_rendered(part, turn=k)
    trajectory = Trajectory(
        id=id,
        task=task or Task(id, tuple(opening)),
        sample=0,
        turns=tuple(turns),
        sequences=tuple(builder.build() for builder in sequences),
        ending=Ending("completed"),
        messages=tuple(said),
        tools=tuple(tools),
    )
    check(trajectory)
    return trajectory


def _exchanges(messages: Sequence[Message], id: str) -> list[tuple[Message, list[Message]]]:
    """Return each assistant message with the messages up to the next one."""
    out: list[tuple[Message, list[Message]]] = []
    for message in messages:
        if message.role != "assistant":
            out[-1][1].append(message)
        elif out and not out[-1][1]:
            raise InputError(f"in conversation {id!r} two assistant messages follow each other; make them one")
        else:
            out.append((message, []))
    return out


def _calls(message: Message, turn: int) -> tuple[ToolCall, ...]:
    """Return the calls with unique ids, numbered like a rollout's."""
    return tuple(replace(call, id=f"t{turn}c{i}") for i, call in enumerate(message.calls))


def _answer(asked: tuple[ToolCall, ...], calls: tuple[ToolCall, ...], answer: list[Message]) -> list[Message]:
    """Tie each tool message to a renumbered call: by its call id, else the next in order."""
    named = {call.id: new for call, new in zip(asked, calls) if call.id}
    rest = iter(calls)
    out = []
    for one in answer:
        call = named.get(one.call_id) or next(rest, None) if one.role == "tool" else None
        out.append(one if call is None else replace(one, call_id=call.id, name=call.name))
    return out
