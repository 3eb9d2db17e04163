"""Contract of worlds."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.images import message_images
from handaxe.core.records import Group, Message, ParsedTurn, Sampling, Task, ToolCall, Trajectory
from handaxe.core.requests import Attempt
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import Policy
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.scoring import score_group
from handaxe.rollouts import driver
from handaxe.testing.tools import check_no_leak
from handaxe.tools.decorator import tool
from handaxe.tools.definition import NAME
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Split, World

__all__ = ["check_world"]

CORRECT = 0.5
"""An outcome above this is correct."""
LONGEST = 64
"""Turns of an expert."""
PATCHES = TinyImageProcessor(8)
"""Image processor of the conversations in worlds with images."""


def check_world(
    world: World,
    *,
    tools: Sequence[Any] | None = None,
    count: int = 40,
    start: Policy | None = None,
    max_turns: int = 4,
    max_tokens: int = 48,
) -> None:
    """Check the contract of a world.

        tasks      a seed determines the tasks, and the first k do not depend on the requested number; ids are unique;
        answers
                   and metadata are JSON; no question and no image is in both splits
        tools      their schemas are JSON, of type object, and their names are callable
        isolation  a rollout cannot read what another wrote, if rollouts can act at all
        correct    the expert is correct on every task, with the world's tools; an empty and a random answer are correct
        on
                   one task in ten at most
        start      the given policy is correct on 0.1 to 0.6 of the test tasks

    Args:
        world: the world.
        tools: offered tools; None for the world's own.
        count: tasks of each split.
        start: result of `handaxe.training.sft.cold_start.start_policy`, which takes minutes; None skips its check.
        max_turns: turns of the start's rollouts.
        max_tokens: tokens of each turn.

    Raises:
        AssertionError: a promise is broken; the message names it.

    Example:
        check_world(arithmetic())
    """
    offered = world.tools if tools is None else tools
    train, test = world.tasks("train", count, 0), world.tasks("test", count, 0)
    _check_tasks(world, train, test, count)
    _check_schemas(world, offered, train[0])
    _check_isolation(world, train[0])
    format = Compact(PATCHES if any(message_images(task.messages) for task in train) else None)
    for task in (*train, *test):
        if world.expert is not None:
            one = demonstrate(
                world.env(offered), task, world.expert, format=format, rollout=world.make_rollout(LONGEST)
            )
            correct = _is_correct(world, one)
            _expect(correct, f"the expert is incorrect on task {task.id!r}, with answer {one.final_text[:80]!r}")
    for name, expert in (("an empty", _empty), ("a random", _noise)):
        tried = [demonstrate(world.env(offered), task, expert, format=format, max_turns=1) for task in test]
        share = sum(_is_correct(world, one) for one in tried) / len(tried)
        _expect(share <= 0.1, f"{name} answer is correct on {share:.0%} of the tasks")
    if start is not None:
        share = _start_share(world, offered, test, start, max_turns, max_tokens)
        _expect(0.1 <= share <= 0.6, f"the start is correct on {share:.0%} of the test tasks, not on 10% to 60%")


def _check_tasks(world: World, train: Sequence[Task], test: Sequence[Task], count: int) -> None:
    splits: dict[Split, Sequence[Task]] = {"train": train, "test": test}
    for split, made in splits.items():
        _expect(bool(made), f"there is no task to {split}")
        again, fewer = world.tasks(split, count, 0), world.tasks(split, max(1, count // 2), 0)
        _expect(_shown(again) == _shown(made), f"seed 0 gives two lists to {split}")
        _expect(
            _shown(fewer) == _shown(made[: len(fewer)]), f"the first tasks to {split} depend on the number of tasks"
        )
        _expect(len({one.id for one in made}) == len(made), f"two tasks to {split} have one id")
        for task in made:
            _expect(bool(task.messages) and bool(task.messages[-1].content.strip()), f"task {task.id!r} asks nothing")
            facts = {"answer": task.answer, "metadata": dict(task.metadata)}
            _expect(_through_json(facts) == facts, f"answer or metadata of task {task.id!r} are not JSON")
    # Other seeds, too: if the split depends on the seed, a question may be in both splits.
    both = sorted(_questions(world, "train", count) & _questions(world, "test", count))
    _expect(not both, f"{len(both)} questions are in both splits, such as {both[:1]}")
    shown = _images(world, "train", count) & _images(world, "test", count)
    _expect(not shown, f"{len(shown)} images are in both splits, such as {sorted(shown)[:1]}")


def _questions(world: World, split: Split, count: int) -> set[str]:
    return {
        repr((task.messages, *(task.metadata[key] for key in world.hidden_keys)))
        for seed in (0, 1)
        for task in world.tasks(split, count, seed)
    }


def _images(world: World, split: Split, count: int) -> set[str]:
    """Digests of the images of the questions."""
    tasks = [task for seed in (0, 1) for task in world.tasks(split, count, seed)]
    return {image.digest for task in tasks for image in message_images(task.messages)}


def _shown(tasks: Sequence[Task]) -> list[str]:
    return [repr((task.id, task.messages, task.answer, task.tools, task.metadata)) for task in tasks]


def _through_json(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return None


def _check_schemas(world: World, tools: Sequence[Any], task: Task) -> None:
    env = world.env(tools)(task)
    try:
        for schema in env.start()[1]:
            _expect(NAME.fullmatch(schema.name) is not None, f"{schema.name!r} is no tool name")
            _expect(bool(schema.description.strip()), f"tool {schema.name!r} has no description")
            parameters = dict(schema.parameters)
            _expect(parameters.get("type") == "object", f"the parameters of tool {schema.name!r} are no object")
            _expect(_through_json(parameters) == parameters, f"the parameters of tool {schema.name!r} are not JSON")
    finally:
        env.close()


class _Pad:
    """Tool with state, to detect state shared between rollouts."""

    def __init__(self) -> None:
        self.text = ""

    @tool
    def write_pad(self, text: str) -> str:
        """Write."""
        self.text = text
        return "written"

    @tool
    def read_pad(self) -> str:
        """Read."""
        return f"it says {self.text}"


def _check_isolation(world: World, task: Task) -> None:
    task = Task(task.id, task.messages, task.answer, None, task.metadata)
    first = world.env([_Pad])(task)
    first.start()
    acts = not first.step(_turn("write_pad", {"text": "x"}), seed=0).done
    first.close()
    if acts:
        check_no_leak(
            world.env([_Pad]), task, write=lambda nonce: _turn("write_pad", {"text": nonce}), read=_turn("read_pad", {})
        )


def _turn(name: str, arguments: dict[str, Any]) -> ParsedTurn:
    return ParsedTurn("", (ToolCall(name, arguments, "t0c0"),))


def _empty(task: Task, facts: Any) -> Message:
    del task, facts
    return Message("assistant", "")


def _noise(task: Task, facts: Any) -> Message:
    del facts
    rng = random.Random(derive_seed("noise", task.id))
    return Message("assistant", "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789 ", k=12)))


def _is_correct(world: World, one: Trajectory) -> bool:
    _expect(one.ending.kind != "infra_error", f"the environment of task {one.task.id!r} failed: {one.ending.reason}")
    return bool(world.correct(Group(one.task, (one,))).outcome[0] > CORRECT)


def _start_share(
    world: World, tools: Sequence[Any], tasks: Sequence[Task], start: Policy, max_turns: int, max_tokens: int
) -> float:
    engine = LocalEngine(start.model, max_rows=64)
    attempts = [
        Attempt(
            task=task,
            env=world.env(tools),
            format=start.format,
            sampling=Sampling(max_tokens=max_tokens),
            id=task.id,
            sample=0,
            seed=derive_seed("check_world", task.id),
            context=engine.max_length,
        )
        for task in tasks
    ]
    played = driver.run(attempts, world.make_rollout(max_turns), engine)
    scores = [score_group(world.correct, Group(task, tuple(tried)))[1] for task, tried in zip(tasks, played)]
    return sum(bool(one.outcome[0] > CORRECT) for one in scores) / len(scores)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
