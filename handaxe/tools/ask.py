"""Tool for questions to another policy, answered in a single turn and billed by tokens."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Message
from handaxe.core.requests import Sample
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import Billed, ToolContext

__all__ = ["PolicyAnswer", "ask", "sample_answer"]


class PolicyAnswer(NamedTuple):
    """Answer of a policy: its text, and the numbers of tokens read and written, the end-of-turn token included."""

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
    """Make a tool with which a policy asks another policy.

        cost    = price * tokens written by the other policy + prompt_price * tokens read
        seconds = seconds_per_token * tokens written, declared and not measured

    The other policy sees only the question, without tools, and answers in one turn. Its sample depends on the call's
    seed (`ToolContext.seed`), so a replay has the same answers, costs and seconds. It is not trained by questions.
    Calls run one at a time.

    Args:
        speaker: engine of the other policy, its chat format and sampling; `max_tokens` bounds the answer.
        name: of the tool.
        description: shown to the policy.
        price: of a written token, in the unit of the other tools' costs.
        prompt_price: of a read token.
        seconds_per_token: None records wall time.

    Returns:
        A tool `name(question)`. A question that leaves no room for an answer is status "retry".

    Raises:
        InputError: a negative price or time.
        ToolDefinitionError: an invalid tool name.

    Example:
        price 2, 0.5 seconds a token; the answer is "56" and the end of the turn, 3 tokens of a byte-level policy
        -> the reply "56" of cost 6 and 1.5 seconds
    """
    if min(price, prompt_price, seconds_per_token or 0.0) < 0:
        raise InputError(
            f"price, prompt_price and seconds_per_token are {price}, {prompt_price} and {seconds_per_token}; give 0 or "
            "more"
        )

    def ask_policy(question: Annotated[str, "all that the other one reads"], context: ToolContext) -> Billed:
        answer = sample_answer(speaker, question, seed=context.seed)
        seconds = None if seconds_per_token is None else seconds_per_token * answer.written
        return Billed(answer.text, price * answer.written + prompt_price * answer.read, seconds)

    ask_policy.__doc__ = description
    return tool(name=name, timeout=None, limit=1)(ask_policy)


def sample_answer(speaker: AuxPolicy, question: str, *, seed: int) -> PolicyAnswer:
    """Sample a policy's answer to a question, without tools.

    Args:
        speaker: engine, chat format and sampling of the policy.
        question: content of a user message.
        seed: of the sampling.

    Raises:
        Retry: the question leaves no room for an answer.
    """
    ids = speaker.format.start([Message("user", question)], ()).ids
    if len(ids) >= speaker.engine.max_length:
        raise Retry(f"the question has {len(ids)} tokens, which leaves no room for an answer: ask a shorter one")
    request = Sample(ids, speaker.sampling, seed, speaker.format.stop_ids, speaker.format.header_ids)
    (completion,) = speaker.engine.sample([request])
    return PolicyAnswer(speaker.format.parse(completion.ids, ()).text, len(ids), len(completion.ids))
