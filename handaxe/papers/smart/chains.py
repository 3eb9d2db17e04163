"""Chains of steps that are known or need a tool, in three domains, as demonstrations with a justification per step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.worlds.world import Expert, Facts

__all__ = [
    "ANSWER",
    "Called",
    "ChainStep",
    "Justify",
    "KINDS",
    "RULES",
    "chain_steps",
    "demonstrator",
    "rule_justification",
    "stated",
]

KINDS: Mapping[str, tuple[str, str]] = {
    "know": ("calculator", "expression"),
    "code": ("calculator", "expression"),
    "search": ("search", "query"),
    "ask": ("ask_user", "question"),
}
"""Decision of a step -> tool and argument that answer it; a known step could be computed."""
RULES: Mapping[str, str] = {"know": "small", "code": "large", "search": "changes", "ask": "yours"}
ANSWER = "answer "
"""Begins the answer in the last text."""
Called = Literal["need", "always"]
"""When demonstrations call: for steps that need a tool, or for each step."""


class ChainStep(NamedTuple):
    """A step of a chain: the decision, the text of the step, the query of its tool, and its value."""

    kind: str
    text: str
    query: str
    value: str


Justify = Callable[[ChainStep], str]
"""ChainStep -> justification of its decision, a line."""


def rule_justification(step: ChainStep) -> str:
    """Justify by the kind of step.

    Example:
        code 12*34  ->  "large"
    """
    return RULES[step.kind]


def chain_steps(task: Task) -> list[ChainStep]:
    """Steps of a task of `smart_chains`; none for a task of another world, such as a warmup pair."""
    return [ChainStep(*one) for one in task.metadata.get("steps", ())]


def demonstrator(*, shown: Called = "need", justify: Justify | None = rule_justification) -> Expert:
    """Speak a chain: known steps in words, needed ones as calls, each with a justification.

        words of a turn    for each known step since the last call: "know 3+4=7: small."
                           before a call:                            "code 12*34: large."
        last turn          remaining known steps, and "answer " with the values of all steps

    One call a turn; a reply is context. A justification is written on one line; it stands in the words of the policy,
    which learns them.

    Args:
        shown: "need", calls for steps that need a tool; "always", calls for known steps as well, with the decision
            "code".
        justify: of each step; None for calls and answer without words.

    Returns:
        An expert of `smart_chains`: correct on every task.

    Raises:
        InputError: an unknown `shown`.

    Example:
        steps 3+4 (known) and 12*34: "know 3+4=7: small. code 12*34: large." with calculator("12*34"), and after "408"
        "answer 7 408"

    Paper: arXiv:2502.11435 (SMART), SMART-ER: chains with a decision and a justification for each step, cut at tools.
    Differs: steps of a chain are independent; a rule decides what is known; words are short.
    """
    if shown not in ("need", "always"):
        raise InputError(f"shown is need or always, not {shown!r}")

    def expert(task: Task, facts: Facts) -> Message:
        steps = chain_steps(task)
        if shown == "always":
            steps = [one._replace(kind="code") if one.kind == "know" else one for one in steps]
        called = [number for number, one in enumerate(steps) if one.kind != "know"]
        turn = facts["turn"]
        first = called[turn - 1] + 1 if turn else 0
        last = called[turn] if turn < len(called) else len(steps)
        words = [f"know {one.text}={one.value}: {_line(justify(one))}." for one in steps[first:last] if justify]
        if turn >= len(called):
            return Message("assistant", " ".join([*words, ANSWER + task.answer]))
        step = steps[last]
        words += [f"{step.kind} {step.text}: {_line(justify(step))}."] if justify else []
        tool, argument = KINDS[step.kind]
        return Message("assistant", " ".join(words), (ToolCall(tool, {argument: step.query}),))

    return expert


def _line(text: str) -> str:
    return " ".join(text.split())


def stated(steps: Sequence[ChainStep]) -> str:
    """Text of a question.

    Example:
        steps 3+4 and 12*34  ->  "3+4; 12*34?"
    """
    return "; ".join(one.text for one in steps) + "?"
