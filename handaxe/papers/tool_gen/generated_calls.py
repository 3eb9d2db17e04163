"""Rollouts of a policy with a tool token in each turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import END, Compact
from handaxe.papers.tool_gen.decode_tools import SpellingTrie, decode_tool
from handaxe.papers.tool_gen.tool_lessons import reply_ids, request_ids
from handaxe.papers.tool_gen.train_generators import ToolGenerator
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.toolbox.held_tools import HeldBox, ToolMemory, catalogue_store
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest, function_catalogue
from handaxe.worlds.world import Expert, Facts

__all__ = ["PlayedCalls", "generating_agent", "play_agent", "retrieving_agent"]


class PlayedCalls(NamedTuple):
    """Of a rollout: share of steps with a correct call; 1 if the policy ended it after as many calls as steps."""

    made: float
    ended: float


def generating_agent(generator: ToolGenerator, request: LabelledRequest) -> Expert:
    """Make the agent of one rollout: each turn is a generated tool, or the end.

    The environment adds the arguments of the request for the tool; another tool gets those of the next step.

    Args:
        generator: trained on conversations.
        request: of one step or several.

    Paper: arXiv:2410.03439 (ToolGen), the agent without a retriever.
    Differs: arguments are those of the reference calls.
    """
    vocabulary = generator.vocabulary
    names = {spelled: name for name, spelled in vocabulary.spellings.items()}
    trie = SpellingTrie([*names, (vocabulary.finish,)], end=END)
    ids = request_ids(vocabulary, request.text)
    left = list(request.steps)

    def speak(task: Task, facts: Facts) -> Message:
        del task
        if facts["replies"]:
            ids.extend([END, *reply_ids(vocabulary, facts["replies"][0])])
        spelled = decode_tool(generator.model, ids, trie, end=END)
        ids.extend(spelled)
        if spelled == (vocabulary.finish,):
            return Message("assistant", "done")
        return _call(names[spelled], left)

    return speak


def retrieving_agent(request: LabelledRequest, retrieve: Callable[[str], Sequence[str]]) -> Expert:
    """Make the agent of one rollout: a call of the retriever's first tool for each line of the request."""
    lines, left = request.text.split("\n"), list(request.steps)

    def speak(task: Task, facts: Facts) -> Message:
        del task, facts
        while lines:
            found = retrieve(lines.pop(0))
            if found:
                return _call(found[0], left)
        return Message("assistant", "done")

    return speak


def play_agent(agent: Expert, request: LabelledRequest, names: Sequence[str]) -> PlayedCalls:
    """Play an agent with all tools.

    Args:
        agent: of this rollout.
        request: the request.
        names: of all tools.
    """
    memory = ToolMemory()
    memory.add(names)
    store = catalogue_store(function_catalogue(), lambda query, count: ())
    played = demonstrate(
        tool_chat([lambda: HeldBox(store, memory, request.steps)]),
        Task(request.id, (Message("user", request.text),), None),
        agent,
        format=Compact(),
        id=request.id,
        max_turns=len(request.steps) + 2,
    )
    made = played.env["state"]["HeldBox"]["made"]
    ended = played.ending.kind == "completed" and len(played.turns) == len(request.steps) + 1
    return PlayedCalls(sum(made) / len(made), float(ended))


def _call(name: str, left: list[Mapping[str, Any]]) -> Message:
    step = next((one for one in left if one["name"] == name), left[0] if left else None)
    if step is not None:
        left.remove(step)
    arguments = dict(step["arguments"]) if step is not None else {}
    return Message("assistant", "", (ToolCall("call_tool", {"name": name, "arguments": arguments}),))
