from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.calls import calls
from handaxe.worlds.mixture import mixture, part_gauge
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.screen.world import screen

PARTS = {"number": arithmetic(), "call": calls(), "box": screen(answer="box", told=True)}


def test_mixture_keeps_the_contract_of_worlds():
    check_world(mixture({"number": PARTS["number"], "box": PARTS["box"]}), count=12)


def test_tasks_follow_the_cycle_of_the_weights():
    world = mixture(PARTS, weights={"number": 2, "call": 1, "box": 1})
    made = world.tasks("train", 6, 0)
    assert [one.metadata["part"] for one in made] == ["number", "number", "call", "box", "number", "number"]
    numbers = PARTS["number"].tasks("train", 4, 0)
    assert [one.id for one in made if one.metadata["part"] == "number"] == [one.id for one in numbers]


def test_sparse_mixture_takes_each_task_at_its_position():
    made = mixture(PARTS, dense=False).tasks("test", 5, 1)
    lists = [world.tasks("test", 5, 1) for world in PARTS.values()]
    assert [one.id for one in made] == [lists[position % 3][position].id for position in range(5)]


def test_each_task_has_the_tools_and_the_score_of_its_world():
    world = mixture(PARTS)
    offered = {"number": {"calculator", "compute"}, "call": {"calculator", "compute"}, "box": set()}
    for task in world.tasks("train", 9, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        assert {tool.name for tool in one.tools} == offered[task.metadata["part"]]
        assert world.correct(Group(task, (one,))).outcome[0] == 1


def test_mixture_has_an_expert_only_if_every_world_has_one():
    assert mixture({"a": PARTS["number"], "b": replace(PARTS["call"], expert=None)}).expert is None


@pytest.mark.parametrize(
    "parts, weights, message",
    [
        ({}, None, "a mixture needs one world or more"),
        (PARTS, {"number": 1}, "the weights are of number, and the parts are number, call, box"),
        (
            PARTS,
            {**dict.fromkeys(PARTS, 1), "call": 0},
            "the weight of part 'call' is 0; give a whole number of 1 or more",
        ),
        (PARTS, {**dict.fromkeys(PARTS, 1), "box": 0.5}, "the weight of part 'box' is 0.5; give a whole number"),
    ],
)
def test_bad_weights_raise(parts, weights, message):
    with pytest.raises(InputError, match=message):
        mixture(parts, weights=weights)


def few(count):
    """A world with a limited number of tasks, as of a file."""
    return replace(
        PARTS["box"],
        tasks=lambda split, wanted, seed: PARTS["box"].tasks(split, min(wanted, count), seed),
        files={"file": Path("box.jsonl")},
    )


def test_training_keeps_the_weights_where_a_world_has_few_tasks():
    world = mixture({"number": PARTS["number"], "box": few(3)}, weights={"number": 1, "box": 3})
    tasks = world.tasks("train", 100, 0)
    assert Counter(task.metadata["part"] for task in tasks) == {"number": 25, "box": 3}
    curriculum = world.curriculum(tasks, 0)
    for step in range(10):
        parts = Counter(task.metadata["part"] for task in curriculum.next(step, 8))
        assert parts == {"number": 2, "box": 6}


def test_mixture_has_the_files_of_its_worlds():
    world = mixture({"number": PARTS["number"], "box": few(3), "more": few(4)})
    assert world.files == {"parts.box.file": Path("box.jsonl"), "parts.more.file": Path("box.jsonl")}


def test_worlds_for_tools_of_the_user_get_the_offered_tools():
    own = replace(PARTS["box"], user_tools=True)
    task = Task("x", (Message("user", "?"),), metadata={"part": "own"})
    env = mixture({"own": own, "number": PARTS["number"]}).env([calculator])(task)
    assert [tool.name for tool in env.start()[1]] == ["calculator"]
    assert mixture({"own": own}).env is tool_chat


def test_empty_task_list_raises():
    with pytest.raises(TaskError, match="empty"):
        mixture(PARTS).tasks("train", 0, 0)


def test_a_gauge_of_a_part_is_the_mean_over_its_rollouts():
    """Of 2 and 4 in one part, and a rollout of another part, whose text has no number."""
    gauge = part_gauge("number", lambda one: float(one.final_text))
    rollouts = [
        make_trajectory(texts=[text], task=make_task(metadata={"part": part}))
        for part, text in (("number", "2"), ("call", "none"), ("number", "4"))
    ]
    assert [gauge.top(one, 0.0) for one in rollouts] == [2, 0, 4]
    assert [gauge.bottom(one, 0.0) for one in rollouts] == [1, 0, 1]
