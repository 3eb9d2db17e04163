"""Every world keeps the contract, without a list of worlds; worlds that break the contract are detected."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.evaluate import summarize
from handaxe.methods.lookup import find, list_names
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import Policy, load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_scores
from handaxe.testing.worlds import check_world
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import World

NEEDS = {
    "atlas": "countryinfo",
    "stream": "datasets",
    "gym": "reasoning_gym",
    "library": "bm25s",
    "tau2": "tau2",
    "plates": "sklearn",
    "screen": "PIL",
    "judged_plates": "sklearn",
    "canvas": "PIL",
    "documents": "rapidocr_onnxruntime",
    "plans": "rapidocr_onnxruntime",
    "slides": "skimage",
    "spatial": "skimage",
    "tool_scenes": "minigrid",
}
ELSEWHERE = ("miniwob", "repair", "scienceworld")
"""Checked in tests/worlds/NAME, by the same function, where there is a browser, bubblewrap or Java."""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def required(tmp_path):
    """Required arguments of worlds. A new world with a required argument adds a line here."""
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
    parts = {"sum": "arithmetic", "words": f"jsonl --file {file}"}
    return {"jsonl": {"file": str(file)}, "stream": {"data": str(file), "test_share": 0.2}, "mixture": {"parts": parts}}


@pytest.mark.parametrize("name", [name for name in list_names("worlds") if name not in ELSEWHERE])
def test_every_world_keeps_the_contract(name, required):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    world = find("worlds", name)(**required.get(name, {}))
    assert isinstance(world, World) and world.name == name
    check_world(world, count=12)
    check_gauge_names(world)


def check_gauge_names(world):
    """An evaluation accepts the names of the gauges."""
    ones = {name: RatioMetric(lambda one, right: 1.0) for name in world.gauges}
    found = summarize([(make_group(size=1), make_scores([1.0]))], gauges=ones, resamples=1)
    assert all(found.metrics[name].value == 1 for name in ones)


def test_a_gauge_with_the_name_of_a_figure_of_runs_is_detected():
    with pytest.raises(InputError, match="cannot be named 'steps'"):
        check_gauge_names(broken(gauges={"steps": RatioMetric(lambda one, right: 1.0)}))


def broken(**changes):
    return replace(arithmetic(), **changes)


def tasks_with(change):
    return lambda split, count, seed: [change(one, split) for one in arithmetic().tasks(split, count, seed)]


def forgetful(split, count, seed):
    return arithmetic().tasks(split, count, random.randrange(10**9))


def depends(split, count, seed):
    return arithmetic().tasks(split, count, count)


def same_for_both(split, count, seed):
    return arithmetic().tasks("train", count, seed)


def one_image(task, split):
    """Another question in each split, and the same image."""
    image = Image.of(np.zeros((8, 8, 3), np.uint8))
    return replace(task, messages=(Message.of("user", task.messages[0].content, image),))


def pads(tools):
    """Environment of a world that shares tools among rollouts."""
    made = [entry() if isinstance(entry, type) else entry for entry in tools]
    shared = [lambda one=one: one for one in made]
    return tool_chat(shared)


@pytest.mark.parametrize(
    "world, message",
    [
        (broken(tasks=forgetful), "gives two lists to train"),
        (broken(tasks=depends), "depend on the number of tasks"),
        (broken(tasks=same_for_both), "questions are in both splits"),
        (broken(tasks=tasks_with(one_image)), "1 images are in both splits"),
        (broken(tasks=tasks_with(lambda one, split: replace(one, id="one"))), "have one id"),
        (broken(tasks=tasks_with(lambda one, split: replace(one, metadata={**one.metadata, "x": {1}}))), "not JSON"),
        (broken(tasks=lambda split, count, seed: []), "there is no task to train"),
        (broken(expert=lambda task, facts: Message("assistant", "7")), "the expert is incorrect on task"),
        (broken(env=pads), "can read what another rollout wrote"),
    ],
)
def test_broken_worlds_are_detected(world, message):
    with pytest.raises(AssertionError, match=message):
        check_world(world, count=8)


def test_a_permissive_reward_is_detected():
    with pytest.raises(AssertionError, match="an empty answer is correct on 100% of the tasks"):
        check_world(broken(correct=outcome(lambda trajectory: 1.0)), count=8)


def test_an_untrained_start_is_detected():
    ignorant = Policy(TinyModel.new(TinyConfig(width=16, layers=1, heads=2), seed=0), Compact())
    with pytest.raises(AssertionError, match="the start is correct on 0% of the test tasks"):
        check_world(arithmetic(), count=8, start=ignorant)
    check_world(arithmetic(), count=30, start=load("tiny"))


def test_an_empty_question_is_detected():
    silent = broken(tasks=tasks_with(lambda one, split: Task(one.id, (Message("user", " "),), one.answer)))
    with pytest.raises(AssertionError, match="asks nothing"):
        check_world(silent, count=4)


def test_need_names_world_and_field():
    with pytest.raises(InputError, match="world 'arithmetic' has no 'expert', which this method needs"):
        broken(expert=None).need("expert")


def test_hidden_keys_distinguish_questions():
    """All tasks have one question; they differ in hidden metadata only."""

    def same(split, count, seed):
        return [replace(task, messages=(Message("user", "?"),)) for task in arithmetic().tasks(split, count, seed)]

    world = broken(tasks=same, hidden_keys=("expression",))
    check_world(world, count=4)
    with pytest.raises(AssertionError, match="in both splits"):
        check_world(replace(world, hidden_keys=()), count=4)
