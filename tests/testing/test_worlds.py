"""Every world of the folder keeps the contract, without being listed; and worlds that break it are found out."""

import json
import random
from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.methods.lookup import find, names_of
from handaxe.models.compact import Compact
from handaxe.models.load import Policy, load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rewards.outcome import outcome
from handaxe.testing.worlds import check_world
from handaxe.worlds.sums import sums
from handaxe.worlds.world import World

NEEDS = {"gym": "reasoning_gym", "library": "bm25s", "tau2": "tau2"}
IN_BROWSER = ("miniwob",)
"""Checked in tests/worlds/test_NAME.py, by the same function, where there is a browser."""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def required(tmp_path):
    """Arguments of the worlds that need some. A new world with a required argument adds its line here."""
    rng = random.Random(0)
    lines = [
        {
            "question": f"which word is number {k}?",
            "answer": f"w{rng.randrange(10**6)}",
            "calls": [{"name": "look_up", "arguments": {"number": k}}],
        }
        for k in range(60)
    ]
    file = tmp_path / "words.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"jsonl": {"file": str(file)}}


@pytest.mark.parametrize("name", [name for name in names_of("worlds") if name not in IN_BROWSER])
def test_every_world_keeps_the_contract(name, required):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    world = find("worlds", name)(**required.get(name, {}))
    assert isinstance(world, World) and world.name == name
    check_world(world, count=12)


def broken(**changes):
    return replace(sums(), **changes)


def tasks_with(change):
    return lambda split, count, seed: [change(one, split) for one in sums().tasks(split, count, seed)]


def forgetful(split, count, seed):
    return sums().tasks(split, count, random.randrange(10**9))


def depends(split, count, seed):
    return sums().tasks(split, count, count)


def same_for_both(split, count, seed):
    return sums().tasks("train", count, seed)


def pads(tools):
    """The environment of a world that makes tools once, for all attempts."""
    made = [entry() if isinstance(entry, type) else entry for entry in tools]
    shared = [lambda one=one: one for one in made]
    return tool_chat(shared)


@pytest.mark.parametrize(
    "world, message",
    [
        (broken(tasks=forgetful), "gives two lists to train"),
        (broken(tasks=depends), "depend on how many are asked for"),
        (broken(tasks=same_for_both), "questions are in both splits"),
        (broken(tasks=tasks_with(lambda one, split: replace(one, id="one"))), "have one id"),
        (broken(tasks=tasks_with(lambda one, split: replace(one, metadata={**one.metadata, "x": {1}}))), "not JSON"),
        (broken(tasks=lambda split, count, seed: []), "there is no task to train"),
        (broken(expert=lambda task, facts: Message("assistant", "7")), "the expert is wrong on task"),
        (broken(env=pads), "can read what another rollout wrote"),
    ],
)
def test_what_breaks_a_promise_is_found(world, message):
    with pytest.raises(AssertionError, match=message):
        check_world(world, count=8)


def test_a_reward_that_likes_everything_is_found():
    with pytest.raises(AssertionError, match="an empty answer is right on 100% of the tasks"):
        check_world(broken(correct=outcome(lambda trajectory: 1.0)), count=8)


def test_a_start_that_knows_nothing_is_found():
    ignorant = Policy(TinyModel.new(TinyConfig(width=16, layers=1, heads=2), seed=0), Compact())
    with pytest.raises(AssertionError, match="the start is right on 0% of the test tasks"):
        check_world(sums(), count=8, start=ignorant)
    check_world(sums(), count=30, start=load("tiny"))


def test_a_task_that_asks_nothing_is_found():
    silent = broken(tasks=tasks_with(lambda one, split: Task(one.id, (Message("user", " "),), one.answer)))
    with pytest.raises(AssertionError, match="asks nothing"):
        check_world(silent, count=4)


def test_need_names_the_world_and_the_field():
    with pytest.raises(InputError, match="world 'sums' has no 'expert', which this recipe needs"):
        broken(expert=None).need("expert")


def test_what_is_hidden_belongs_to_the_question():
    """Every task of both splits asks the same; what differs is only in what the policy is not told."""

    def same(split, count, seed):
        return [replace(task, messages=(Message("user", "?"),)) for task in sums().tasks(split, count, seed)]

    world = broken(tasks=same, hidden=("expression",))
    check_world(world, count=4)
    with pytest.raises(AssertionError, match="in both splits"):
        check_world(replace(world, hidden=()), count=4)
