"""Environment wrapper with task-specific tool names: a policy has to read the offered tools."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.content_split import content_split

__all__ = ["NAMES", "rename_tasks", "renamed_call", "renamed_tools"]

NAMES = "names"
"""Key of task metadata with drawn names of tools and parameters, {name: drawn name}; {} for unchanged names."""
DESCRIPTIONS = "descriptions"
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
LETTERS = "bcdfghjklmnpqrstvwz"
TRIES = 10_000
Split = Literal["train", "test"]
NO_DESCRIPTIONS: Mapping[str, Sequence[str]] = {}


def renamed_tools(env: EnvFactory) -> EnvFactory:
    """Wrap environments: rename tools and parameters by a task's metadata.

    Names of tools and of their parameters are replaced by the names of `rename_tasks`: in the schemas, in the policy's
    calls before execution, and in error messages. A call by an original name is a call of an unknown tool. Successful
    results are unchanged.

    Args:
        env: wrapped factory. It sees the original names in calls and in `Task.tools`; the rest of the task, such as
            metadata "gold_calls" and the answer, keeps the drawn names.

    Returns:
        An EnvFactory; a task without such metadata is played as by `env`.

    Raises:
        TaskError: by the factory, for invalid names.

    Example:
        names {"calculator": "f417", "expression": "p83"}: the policy is offered f417(p83), and "12*34" in a call of
        f417 returns "408"

    Paper: arXiv:2601.18631 (AdaReasoner), its randomised tools.
    Differs: names of properties within an argument stay.
    """

    def factory(task: Task) -> Env:
        table = _table(task)
        if not table:
            return env(task)
        offered = None if task.tools is None else tuple(table.get(name, name) for name in task.tools)
        return _Renamed(env(replace(task, tools=offered)), table, task.metadata.get(DESCRIPTIONS, {}))

    return inherit_bound(factory, env)


def rename_tasks(
    tasks: Sequence[Task],
    *,
    tools: Sequence[ToolSchema],
    share: float = 1.0,
    split: Split = "train",
    seed: int = 0,
    digits: int = 3,
    descriptions: Mapping[str, Sequence[str]] = NO_DESCRIPTIONS,
) -> list[Task]:
    """Draw names of tools and parameters per task, and translate the reference calls.

    A name is a letter and some digits. Each name belongs to train or to test, so that tools of tests are unseen.

    Args:
        tasks: original tasks.
        tools: tools of the environment.
        share: share of the tasks with new names, 0 to 1; the others get metadata {"renamed": "no"} and no names.
        split: split of the drawn names.
        seed: seed of the names; a task's names depend on seed and task id alone.
        digits: digits of a name, 1 to 9; fewer digits give fewer names, which are learned sooner.
        descriptions: tool -> descriptions, one of which is drawn; {}: original descriptions, in the new names.

    Returns:
        Tasks with metadata "renamed" ("yes" or "no") and "names". Translated are `tools`, metadata "gold_calls", and
        calls in `answer`.

    Raises:
        InputError: share or digits out of range, or more tools and parameters than names.

    Paper: arXiv:2601.18631 (AdaReasoner).
    Differs: descriptions are drawn among given ones, and not written by a language model.
    """
    if not 0 <= share <= 1:
        raise InputError(f"a share of {share} of the tasks; give 0 to 1")
    if not 1 <= digits <= 9:
        raise InputError(f"names of a letter and {digits} digits; give 1 to 9")
    words = dict.fromkeys(name for tool in tools for name in (tool.name, *tool.parameters.get("properties", {})))

    def draw(task: Task) -> Task:
        rng = random.Random(derive_seed("rename", seed, split, task.id))
        if rng.random() >= share:
            return replace(task, metadata={**task.metadata, "renamed": "no", NAMES: {}})
        names: dict[str, str] = {}
        for word in words:
            names[word] = _drawn(rng, split, digits, taken={*words, *names.values()})
        drawn_descriptions = {tool: rng.choice(list(ways)) for tool, ways in descriptions.items()}
        metadata = {**task.metadata, "renamed": "yes", NAMES: names, DESCRIPTIONS: drawn_descriptions}
        if "gold_calls" in metadata:
            metadata["gold_calls"] = _translated(metadata["gold_calls"], names)
        offered = None if task.tools is None else tuple(names.get(name, name) for name in task.tools)
        return replace(task, tools=offered, answer=_translated(task.answer, names), metadata=metadata)

    return [draw(task) for task in tasks]


def renamed_call(call: ToolCall, names: Mapping[str, str]) -> ToolCall:
    """Translate the names of a call; other names stay.

    Example:
        calculator(expression="1+1") with {"calculator": "f417", "expression": "p83"} is f417(p83="1+1")
    """
    arguments = {names.get(name, name): value for name, value in call.arguments.items()}
    return replace(call, name=names.get(call.name, call.name), arguments=arguments)


class _Renamed(AsyncEnvWrapper):
    """Wrapper with a self-inverse table of names, for both directions."""

    def __init__(self, env: Env, table: Mapping[str, str], descriptions: Mapping[str, str]):
        super().__init__(env)
        self.table = table
        self.descriptions = descriptions

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        messages, tools = super().start()
        return messages, tuple(self._schema(tool) for tool in tools)

    def transform_turn(self, turn: ParsedTurn) -> ParsedTurn:
        calls = tuple(renamed_call(call, self.table) for call in turn.calls)
        return replace(turn, calls=calls, errors=tuple(self._text(error) for error in turn.errors))

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        right = {one.call_id for one in reply.replies if one.status == "ok"}
        ending = reply.ending and replace(reply.ending, reason=self._text(reply.ending.reason))
        messages = tuple(self._message(one, right) for one in reply.messages)
        return reply._replace(messages=messages, replies=tuple(map(self._reply, reply.replies)), ending=ending)

    def _schema(self, tool: ToolSchema) -> ToolSchema:
        given = dict(tool.parameters)
        properties = {
            self._name(name): _described(schema, self._text) for name, schema in given.get("properties", {}).items()
        }
        given["properties"] = properties
        if "required" in given:
            given["required"] = [self._name(name) for name in given["required"]]
        description = self.descriptions.get(tool.name, tool.description)
        return ToolSchema(self._name(tool.name), self._text(description), given)

    def _message(self, one: Message, right: set[str]) -> Message:
        if one.role != "tool":
            return one
        content = one.content if one.call_id in right else self._text(one.content)
        return replace(one, name=self._name(one.name), content=content)

    def _reply(self, one: ToolReply) -> ToolReply:
        content = one.content if one.status == "ok" else self._text(one.content)
        return replace(one, name=self._name(one.name), content=content)

    def _name(self, name: str) -> str:
        return self.table.get(name, name)

    def _text(self, text: str) -> str:
        return WORD.sub(lambda found: self.table.get(found[0], found[0]), text)


def _table(task: Task) -> dict[str, str]:
    """Table of names for both directions."""
    names = task.metadata.get(NAMES) or {}
    taken = [*names, *names.values()] if isinstance(names, Mapping) else [None]
    if not all(isinstance(one, str) and WORD.fullmatch(one) for one in taken) or len(set(taken)) != len(taken):
        raise TaskError(f"task {task.id!r} has {names!r:.80} as metadata {NAMES!r}; give {{name: drawn name}}")
    return {**names, **{drawn: name for name, drawn in names.items()}}


def _drawn(rng: random.Random, split: Split, digits: int, taken: set[str]) -> str:
    for _ in range(TRIES):
        name = rng.choice(LETTERS) + str(rng.randrange(10 ** (digits - 1), 10**digits))
        if name not in taken and content_split("tool name", name) == split:
            return name
    raise InputError(f"there are no names left for {len(taken)} tools and parameters")


def _translated(value: Any, names: Mapping[str, str]) -> Any:
    """Translate reference calls, alone, in a list, or as the entry "calls"; other values stay."""
    if isinstance(value, list | tuple):
        return [_translated(one, names) for one in value]
    if isinstance(value, Mapping) and set(value) >= {"name", "arguments"}:
        call = renamed_call(ToolCall(value["name"], value["arguments"]), names)
        return {**value, "name": call.name, "arguments": dict(call.arguments)}
    if isinstance(value, Mapping) and "calls" in value:
        return {**value, "calls": _translated(value["calls"], names)}
    return value


def _described(schema: Any, translate: Callable[[str], str]) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    words = {key: translate(schema[key]) for key in ("description", "title") if isinstance(schema.get(key), str)}
    return {**schema, **words}
