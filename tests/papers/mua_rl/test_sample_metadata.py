from collections import Counter

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task
from handaxe.core.requests import Attempt, Completion, EnvReply
from handaxe.models.chat_formats.compact import END, Compact
from handaxe.papers.mua_rl.sample_metadata import sample_metadata
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.rollouts.linear import linear
from handaxe.rollouts.turn_starts import turn_starts

TASK = Task("t", (Message("user", "hi"),), metadata={"persona": "static", "kept": 1})


class Meets:
    """Says at the end whom the policy met."""

    def __init__(self, task):
        self.task = task

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        return EnvReply(done=True)

    def report(self):
        return dict(self.task.metadata)

    def close(self):
        pass


def met(seed, **arguments):
    rollout = sample_metadata(linear(), **{"key": "persona", "among": ("plain", "easy"), **arguments})
    attempt = Attempt(TASK, Meets, Compact(), Sampling(), "t/0", 0, seed, 512)
    (one,) = run_plan(rollout(attempt), sample=lambda name, request: Completion([END], [0.0], [0.0], [0], "stop"))
    assert one.task == TASK
    return one.env


def test_values_are_sampled_uniformly_and_the_recorded_task_is_unchanged():
    counts = Counter(met(seed)["persona"] for seed in range(400))
    assert set(counts) == {"plain", "easy"} and abs(counts["plain"] / 400 - 0.5) < 0.08
    assert met(3) == met(3) and met(3)["kept"] == 1
    assert met(3, among=("hard",))["persona"] == "hard" and met(3, key="mood")["persona"] == "static"


def test_sample_metadata_branches_if_its_rollout_does():
    assert not hasattr(sample_metadata(linear(), key="k", among=("a",)), "branches")
    assert sample_metadata(forking(at=turn_starts()), key="k", among=("a",)).branches


def test_sample_metadata_refuses_no_values_and_bounded_environments():
    with pytest.raises(InputError, match="no values"):
        sample_metadata(linear(), key="k", among=())

    class Two(Meets):
        most = 2

    attempt = Attempt(TASK, Two, Compact(), Sampling(), "t/0", 0, 0, 512)
    with pytest.raises(InputError, match="limit on open instances"):
        next(sample_metadata(linear(), key="k", among=("a",))(attempt))
