"""Another policy as a tool: it is asked one question, answers in one turn, and is billed by its tokens."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Message
from handaxe.core.requests import Sample
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.schema import Billed, ToolContext

__all__ = ["PolicyAnswer", "answer_of", "ask"]


class PolicyAnswer(NamedTuple):
    """What a policy said to one question: its text, and how many tokens it read and wrote, the one that ends its turn
    among these."""

    text: str
    read: int
    written: int


def ask(
    speaker: AuxPolicy,
    *,
    name: str = "ask",
    description: str = "Ask another model a question.",
    price: float = 0.0,
    prompt_price: float = 0.0,
    seconds_per_token: float | None = None,
) -> Tool:
    """Make a tool with which a policy asks another one.

        cost    = price * tokens that the other one writes + prompt_price * tokens that it reads
        seconds = seconds_per_token * tokens that it writes, declared and not measured

    The other one sees the question alone, without tools, and answers in one turn. What it draws depends on the call's
    own seed (`ToolContext.seed`), so a replay hears, pays and waits the same. It does not learn by being asked. One
    call at a time asks it.

    Args:
        speaker: the engine that is asked, its chat format, and how it is sampled; `max_tokens` bounds the answer.
        name: of the tool.
        description: what the policy is told of it.
        price: of a token that it writes, in the unit of the other tools' costs.
        prompt_price: of a token that it reads.
        seconds_per_token: None records wall time.

    Returns:
        A tool `name(question)`. A question that the other one has no room for is status "retry".

    Raises:
        InputError: a negative price or time; ToolDefinitionError: a name that no policy can write.

    Example:
        price 2, 0.5 seconds a token; it writes "56" and ends its turn, 3 tokens of a byte-level policy
        -> the reply "56" of cost 6 and 1.5 seconds
    """
    if min(price, prompt_price, seconds_per_token or 0.0) < 0:
        raise InputError(f"prices and seconds are not negative: {price}, {prompt_price}, {seconds_per_token}")

    def asked(question: Annotated[str, "all that the other one reads"], context: ToolContext) -> Billed:
        said = answer_of(speaker, question, seed=context.seed)
        seconds = None if seconds_per_token is None else seconds_per_token * said.written
        return Billed(said.text, price * said.written + prompt_price * said.read, seconds)

    asked.__doc__ = description
    return tool(name=name, timeout=None, limit=1)(asked)


def answer_of(speaker: AuxPolicy, question: str, *, seed: int) -> PolicyAnswer:
    """What a policy says to one question, without tools.

    Args:
        speaker: who is asked, and how it is sampled.
        question: one message of a user.
        seed: of what it draws.

    Raises:
        Retry: the question leaves no room for an answer.
    """
    ids = speaker.format.start([Message("user", question)], ()).ids
    if len(ids) >= speaker.engine.max_length:
        raise Retry(f"the question has {len(ids)} tokens, which leaves no room for an answer: ask a shorter one")
    request = Sample(ids, speaker.sampling, seed, speaker.format.stop_ids, speaker.format.header_ids)
    (said,) = speaker.engine.sample([request])
    return PolicyAnswer(speaker.format.parse(said.ids, ()).text, len(ids), len(said.ids))
