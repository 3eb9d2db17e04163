"""Requests to language models as modules of an agent, and the reading of their replies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from handaxe.asking.ask import AskAnswer
from handaxe.asking.aux_question import aux_question
from handaxe.asking.read import Unreadable, choice
from handaxe.core.records import ParsedTurn, Task, ToolCall, ToolSchema
from handaxe.core.requests import AuxChat, AuxRequest

__all__ = [
    "EXECUTOR",
    "GENERATOR",
    "MODULES",
    "ModuleChat",
    "VERIFIER",
    "plan_text",
    "read_command",
    "read_enough",
]

EXECUTOR = "executor"
VERIFIER = "verifier"
GENERATOR = "generator"
MODULES = (EXECUTOR, VERIFIER, GENERATOR)
"""Names of the modules; an auxiliary policy of a name plays the module."""
PROMPTS: Mapping[str, str] = {
    EXECUTOR: "flow_grpo/execute",
    VERIFIER: "flow_grpo/verify",
    GENERATOR: "flow_grpo/generate",
}


class ModuleChat(NamedTuple):
    """Prompts of one module, for one auxiliary policy.

    Example:
        ModuleChat("verifier", chat).request(task, {"memory": "search 4071 boss: 5526"}) asks for a verdict

    Paper: arXiv:2510.05592 (AgentFlow), modules as prompts to frozen language models.
    Differs: short prompts.
    """

    module: str
    chat: AuxChat

    def request(self, task: Task, quoted: Mapping[str, str]) -> AuxRequest:
        """Make the request, see `asking.aux_question`.

        Args:
            task: of the rollout.
            quoted: field "memory"; or "plan" and, as JSON, "tool".

        Example:
            verifier, context 300: '12*34+5?\\nknown: "search a: b"\\nenough? yes/no' is the only message
        """
        fields = {"task": task.messages[-1].content, **quoted}
        return aux_question(self.module, PROMPTS[self.module], self.chat, fields)


def plan_text(goal: str, call: ToolCall) -> str:
    """Write a planned call as text: the planner's words, tool and arguments.

    Example:
        goal "find the boss", search {"query": "4071 boss"} -> 'find the boss search {"query": "4071 boss"}'

    Paper: arXiv:2510.05592 (AgentFlow), sub-goal and tool of the planner.
    Differs: the planner writes arguments, too.
    """
    return " ".join(part for part in (goal, call.name, json.dumps(dict(call.arguments))) if part)


def read_command(turn: ParsedTurn, planned: ToolCall, tool: ToolSchema) -> ToolCall | None:
    """Read the command of an executor: its call, a JSON object of arguments, or the text of a single text argument.

    The command keeps the id of the planned call.

    Returns:
        The command; None for a text that is none of these.

    Example:
        tool search(query: text): '4071 boss' and '{"query": "4071 boss"}' -> search {"query": "4071 boss"}

    Paper: arXiv:2510.05592 (AgentFlow), commands of the executor.
    Differs: arguments instead of code.
    """
    if turn.calls:
        return ToolCall(turn.calls[0].name, turn.calls[0].arguments, planned.id)
    text = turn.text.strip()
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return ToolCall(planned.name, found, planned.id)
    properties = tool.parameters.get("properties", {})
    single = [name for name, one in properties.items() if one.get("type") == "string"]
    if len(properties) != 1 or not single:
        return None
    return ToolCall(planned.name, {single[0]: text}, planned.id)


def read_enough(turn: ParsedTurn) -> bool:
    """Read the verdict of a verifier: True for a text with the word yes and without the word no.

    Any other text continues the rollout, as a verdict without a conclusion does in the released code.

    Example:
        "Yes." -> True; "no", "yes or no" and "perhaps" -> False

    Paper: arXiv:2510.05592 (AgentFlow), verdict of the verifier: stop or continue.
    Differs: one word instead of an analysis.
    """
    try:
        return choice(("yes", "no"))(AskAnswer(turn.text)) == "yes"
    except Unreadable:
        return False
