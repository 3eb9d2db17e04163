"""Prompts of target and judge, feedback on pairs, and updates of both prompts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Reflect", "RolePrompts", "name_next_tool", "named_tools", "tool_names"]


class RolePrompts(NamedTuple):
    """Texts of both players; a tool is offered to a player if the text names it."""

    target: str
    judge: str


Reflect = Callable[[RolePrompts, Sequence[str]], RolePrompts]
"""(prompts, feedback on the rejected pairs) -> new prompts; a language model fits."""


def tool_names(tools: Sequence[Any]) -> list[str]:
    """Names of tools, in order.

    Example:
        [calculator]  ->  ["calculator"]
    """
    return [tool.schema.name for tool in tools]


def named_tools(prompt: str, tools: Sequence[str]) -> tuple[str, ...]:
    """Tools whose names are words of a prompt, in the order of `tools`.

    Example:
        ("Use calculator.", ["search", "calculator"])  ->  ("calculator",)
    """
    words = set(re.findall(r"\w+", prompt))
    return tuple(name for name in tools if name in words)


def name_next_tool(*, tools: Sequence[str]) -> Reflect:
    """Make a rule for updates: after any feedback, both prompts name their next tool.

        prompt + "Use NAME."      NAME the first of `tools` that the prompt does not name; without one, no change

    Args:
        tools: names.

    Returns:
        A `Reflect`. Without feedback the prompts stay.

    Example:
        ("Use calculator.", "Use calculator.") with one feedback and tools calculator and search
        ->  "Use calculator. Use search." for both

    Paper: arXiv:2504.19276 (Anyprefer), feedback that updates the prompts of target and judge.
    Unconfirmed: the form of feedback and update.
    Differs: a rule; a language model rewrites prompts in the paper.
    """

    def updated(prompt: str) -> str:
        missing = [name for name in tools if name not in named_tools(prompt, tools)]
        return f"{prompt} Use {missing[0]}.".strip() if missing else prompt

    def reflect(prompts: RolePrompts, feedback: Sequence[str]) -> RolePrompts:
        return RolePrompts(updated(prompts.target), updated(prompts.judge)) if feedback else prompts

    return reflect
