from collections import Counter

import numpy as np
import pytest

from handaxe.core.records import Message, Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.methods.lookup import find
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.toolchain_star.compare_searches import compare_searches, make_searches, repeated
from handaxe.papers.toolchain_star.plan_steps import plan_steps
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.training.sft.cold_start import demonstrations

CALLS = 6


class ErringExpert(ScriptedEngine):
    """The expert of journeys of one leg; of the samples after one context, only every third is its turn."""

    def __init__(self, world, tasks):
        super().__init__(Compact(), self.say, tools=world.env(world.tools)(tasks[0]).start()[1])
        self.world = world
        self.tasks = {task.messages[-1].content: task for task in tasks}
        self.asked = Counter()

    def sample(self, requests):
        return [self._one(request) for request in requests]

    def _one(self, request):
        self.cold = request.sampling.temperature == 0
        return super().sample([request])[0]

    def say(self, text, turn):
        task = self.tasks[text.split("<USER>")[1].split("<END>")[0]]
        said = self.world.need("expert")(task, {"turn": turn, "tools": ["trains", "hotels"]})
        self.asked[text] += 1
        if self.cold or self.asked[text] % 3 or turn == 2:
            said = Message("assistant", said.content, (ToolCall("hotels", {"town": 10}),)) if turn < 2 else said
        return (said.content, said.calls[0]) if said.calls else said.content


@pytest.fixture(scope="module")
def found():
    world = find("worlds", "journeys")(legs=(1,))
    train = world.tasks("train", 4, 0)
    memory = [plan_steps(one) for one in demonstrations(world, world.env(world.tools), train, count=4, seed=0)]
    tasks = [task for seed in (5, 6) for task in world.tasks("test", 3, seed)]
    searches = make_searches(memory, candidates=3, calls=CALLS, width=2, max_turns=4)
    figures = {}
    for name, search in searches.items():
        figures |= compare_searches(
            {name: search},
            world=world,
            engine=ErringExpert(world, tasks),
            format=Compact(),
            seeds=(5, 6),
            count=3,
            calls=CALLS,
            max_tokens=64,
        )
    return figures


def test_no_search_exceeds_the_budget(found):
    assert all((one["most_calls"] <= CALLS).all() and one["calls"].shape == (2,) for one in found.values())
    assert (found["vote"]["most_calls"] == CALLS).all()


def test_the_memory_finds_the_correct_steps_among_equal_samples(found):
    assert found["astar"]["pass@1"].tolist() == [1, 1] and found["memory"]["pass@1"].tolist() == [1, 1]
    assert found["greedy"]["pass@1"].tolist() == [0, 0]


def test_astar_executes_the_calls_of_the_plan_and_no_others(found):
    assert found["astar"]["calls"].tolist() == [2, 2]
    assert found["astar"]["turns"].min() >= 9  # three samples for each of three steps


def test_an_answer_counts_if_it_is_there(found):
    assert all(np.all(one["pass@1"] <= one["answered"]) for one in found.values())


def test_repeated_equals_single_rollouts_with_their_seeds(dice):
    together = run_plan(repeated(most=3, max_turns=4)(dice.attempt(2)), sample=dice.roll)
    assert [one.id for one in together] == ["t/0/0", "t/0/1", "t/0/2"]
    for one in together:
        alone = Attempt(one.task, dice.Counter, Compact(), Sampling(max_tokens=14), one.id, 0, one.seed, 400)
        (plain,) = run_plan(linear(max_turns=4)(alone), sample=dice.roll)
        assert (plain.turns, plain.ending) == (one.turns, one.ending)
    assert len({one.seed for one in together}) == 3
