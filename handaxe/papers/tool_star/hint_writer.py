"""Hints to use a tool, by a rule or a language model."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable
from handaxe.core.records import Sampling, Task
from handaxe.papers.tool_star.hinted_env import tool_hint
from handaxe.synthesis.ask_values import ask_values

__all__ = ["read_hint", "write_hints"]

MOST_CHARACTERS = 400


def write_hints(tasks: Sequence[Task], desk: AskDesk | None) -> dict[str, str]:
    """Write the hint of each task, by id.

    Args:
        tasks: with a question as last message.
        desk: asks the model; None for the rule `tool_hint`.

    Returns:
        No entry for a task without a readable hint: the rule never answers in place of a model.

    Raises:
        InputError: the server is away or the budget is spent.

    Example:
        rule, "2*7=?"  ->  "Use a tool. 2*7=?"

    Paper: arXiv:2505.16410 (Tool-Star), hint-based sampling.
    Unconfirmed: the wording of hints and their places; here after the answer.
    Differs: a hint follows a text answer, and the policy's own text is not continued.
    """
    if desk is None:
        return {one.id: tool_hint(one) for one in tasks}
    prompt = find_prompt("tool_star/hint", terse=desk.answerer.terse)
    limits = Sampling(temperature=0.0, max_tokens=64)
    asks = [
        Ask(prompt, {"question": one.messages[-1].content}, role="hinter", about=(one.id, -1, ""), sampling=limits)
        for one in tasks
    ]
    found = ask_values(desk, asks, read_hint)
    return {one.id: it.value for one, it in zip(tasks, found, strict=True) if not isinstance(it.value, NoAnswer)}


def read_hint(answer: AskAnswer) -> str:
    """Read a hint: one line of 1 to 400 characters.

    Example:
        "Check this with a calculator." -> the same;  "" and two lines are unreadable
    """
    text = answer.text.strip()
    if not text or len(text) > MOST_CHARACTERS or "\n" in text:
        raise Unreadable(f"a hint is one line of 1 to {MOST_CHARACTERS} characters")
    return text
