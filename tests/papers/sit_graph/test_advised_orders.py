import pytest

pytest.importorskip("tau2")

from handaxe.core.records import Group
from handaxe.papers.sit_graph.advised_env import ANSWER, ToolStep
from handaxe.papers.sit_graph.advised_orders import (
    CHOICES,
    TOOLS,
    advised_orders,
    correct_tool,
    no_advice,
    noisy_adviser,
)
from handaxe.training.sft.cold_start import demonstrations

LOOK = TOOLS[0]


def shown(world, count, split="train"):
    tasks = world.tasks(split, count, 0)
    return demonstrations(world, world.env(world.tools), tasks, count=count, seed=0, context=2048)


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def test_the_expert_serves_every_customer_and_summarizes_the_state_after_each_look():
    world = advised_orders(adviser=no_advice)
    for one in (*shown(world, 24), *shown(world, 24, "test")):
        assert right(world, one) == 1 and one.ending.kind == "completed"
        names = [call.name for call in one.calls]
        assert names.count("summarize_state") == names.count(LOOK) > 0
        steps = [ToolStep(*step) for step in one.turns[-1].facts["steps"]]
        assert [correct_tool(one.task, steps[:n]) for n in range(len(steps))] == [step.tool for step in steps]


def test_a_choice_follows_the_state_in_the_summary():
    world = advised_orders(adviser=no_advice)
    chosen = set()
    for one in shown(world, 40):
        steps = [ToolStep(*step) for step in one.turns[-1].facts["steps"]]
        assert all((step.summary != "") == (steps[n - 1].tool == LOOK) for n, step in enumerate(steps) if n)
        chosen |= {(step.summary.split()[0], step.summary.endswith("?"), step.tool) for step in steps if step.summary}
    assert chosen == {
        ("pending", False, "cancel_pending_order"),
        ("delivered", False, "return_delivered_order_items"),
        ("pending", True, ANSWER),
        ("delivered", True, ANSWER),
    }


def test_the_guessing_expert_follows_suggestions_and_guesses_without():
    world = advised_orders(adviser=noisy_adviser, guesses=True)
    followed, guessed = [], []
    for one in shown(world, 60):
        for turn, after in zip(one.turns, one.turns[1:]):
            if turn.facts["summary"]:
                tool = after.facts["steps"][-1][0]
                if turn.facts["advice"]:
                    followed.append(tool == turn.facts["advice"][0])
                else:
                    guessed.append(tool)
    assert all(followed) and len(followed) > 40
    assert set(guessed) == set(CHOICES)


def test_suggestions_of_demonstrations_are_mostly_correct():
    world = advised_orders(adviser=noisy_adviser, guesses=True)
    tasks = world.tasks("train", 400, 0)
    first = [noisy_adviser(task, (), "") for task in tasks]
    assert 0.6 < sum(map(bool, first)) / 400 < 0.8
    correct = [one[0] == LOOK for one in first if one]
    assert 0.78 < sum(correct) / len(correct) < 0.92
    assert noisy_adviser(tasks[0], (ToolStep(LOOK),), "") == ()


def test_only_the_guessing_world_has_a_cold_start():
    assert advised_orders(adviser=no_advice).start is None
    assert advised_orders(adviser=noisy_adviser, guesses=True).start is not None


def test_the_same_customers_are_served_in_the_same_order():
    world = advised_orders(adviser=no_advice)
    assert [one.messages for one in world.tasks("train", 5, 1)] == [one.messages for one in world.tasks("train", 5, 1)]
    ours = {one.messages for one in world.tasks("train", 60, 1)}
    assert ours.isdisjoint(one.messages for one in world.tasks("test", 60, 1))
