"""World of parameterised tasks on a phone, with success by the state of the apps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Ending, Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.papers.android_world.phone import Phone
from handaxe.papers.android_world.phone_templates import TEMPLATES, part_success
from handaxe.papers.android_world.task_template import step_budget
from handaxe.rewards.outcome import outcome
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Facts, Split, World

__all__ = ["DONE", "phone_task", "phone_tasks"]

DONE = "done"
TURNS = 14


def phone_tasks(*, templates: tuple[str, ...] = tuple(TEMPLATES)) -> World:
    """Change rows in the apps of a phone: add, set and delete, in one to three apps.

    Tools: open (an app), scroll, add, set and delete. A screen shows three rows. The rollout ends with a text, or after
    the step budget of the template. Success is decided by the rows of the apps at the end, whatever the text says: the
    share of parts with exactly the required rows.

    Args:
        templates: names, drawn evenly.

    Returns:
        A world broken down by "template". Gauges: success, and claimed (share of failures among rollouts that end with
        "done").

    Raises:
        InputError: an unknown template, or none.

    Example:
        "contacts delete 512": open contacts -> "317 4410, 226 9102, 871 1234, more"; scroll down -> "512 5526, end";
        delete 512 -> "ok"; "done"

    Paper: arXiv:2405.14573 (AndroidWorld), tasks with parameters and success by the system's state.
    Differs: lists in a database instead of 20 Android apps; text instead of screenshots.
    """
    if not templates or not set(templates) <= set(TEMPLATES):
        raise InputError(f"templates are some of {', '.join(TEMPLATES)}: {templates}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        chosen = [templates[number % len(templates)] for number in range(count)]
        return [phone_task(name, derive_seed("phone", split, seed, place)) for place, name in enumerate(chosen)]

    return World(
        name="phone_tasks",
        tasks=tasks,
        env=_env,
        correct=outcome(_success),
        breakdown=("template",),
        hidden_keys=("params",),
        is_answer=is_text_answer,
        expert=_expert,
        start_turns=TURNS,
        gauges={
            "success": RatioMetric(lambda one, _: _success(one)),
            "claimed": RatioMetric(lambda one, _: _claims(one) * float(_success(one) < 1), lambda one, _: _claims(one)),
        },
    )


def phone_task(template: str, seed: int) -> Task:
    """Create a task of a template, with parameters of a seed.

    Example:
        phone_task("delete", 7) may be "contacts delete 512", with 6 steps
    """
    made = TEMPLATES[template]
    params = made.generate_params(seed)
    metadata = {"template": template, "params": params, "budget": step_budget(made.complexity)}
    return Task(f"phone-{template}-{seed}", (Message("user", made.goal(params)),), DONE, metadata=metadata)


def _env(tools: Sequence[Any]) -> EnvFactory:
    tool_chat([Phone, *tools])  # raises early for bad tools

    def make(task: Task) -> Env:
        return _PhoneEnv(task, tools)

    return make


class _PhoneEnv(AsyncEnvWrapper):
    """Conversation on a phone; facts hold the screen and the success of each part."""

    def __init__(self, task: Task, tools: Sequence[Any]):
        phone = Phone()
        take: Callable[[], Phone] = lambda: phone  # noqa: E731
        super().__init__(tool_chat([take, *tools])(task))
        self._task = TEMPLATES[task.metadata["template"]]
        self._params = task.metadata["params"]
        self._left = int(task.metadata["budget"])
        self._phone = phone
        self._task.initialize(phone, self._params)

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        self._left -= 1
        if self._left == 0 and not reply.done:
            reply = reply._replace(done=True, ending=Ending("truncated", "turns"))
        return reply._replace(facts={**self._phone.report(), **self._state()})

    def report(self) -> dict[str, Any]:
        return {**self.env.report(), **self._state()}

    def _state(self) -> dict[str, Any]:
        success = self._task.is_successful(self._phone, self._params)
        return {"success": success, "parts": [part_success(self._phone, one) for one in self._params["parts"]]}

    def snapshot(self) -> Any:
        return self.env.snapshot(), self._left

    def restore(self, state: Any) -> None:
        inner, self._left = state
        self.env.restore(inner)

    def close(self) -> None:
        self._task.tear_down(self._phone, self._params)
        self.env.close()


def _success(one: Trajectory) -> float:
    return float(one.env["success"])


def _claims(one: Trajectory) -> float:
    return float(one.final_text.strip() == DONE)


def _expert(task: Task, facts: Facts) -> Message:
    parts = task.metadata["params"]["parts"]
    made = facts.get("parts", [0.0] * len(parts))
    part = next((one for one, done in zip(parts, made) if not done), None)
    if part is None:
        return Message("assistant", DONE)
    if facts.get("app") != part["app"]:
        return _call("open", "app", part["app"])
    if part["action"] == "add":
        return _call("add", "row", f"{part['key']} {part['value']}")
    if part["key"] not in facts["visible"]:
        return _call("scroll", "way", "down")
    if part["action"] == "set":
        return _call("set", "row", f"{part['key']} {part['value']}")
    return _call("delete", "key", part["key"])


def _call(name: str, parameter: str, value: str) -> Message:
    return Message("assistant", "", (ToolCall(name, {parameter: value}),))
