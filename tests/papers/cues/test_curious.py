"""The stage, and the tasks of an exploration: training half, executed, new."""

from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.curricula.task_pool import task_pool
from handaxe.papers.cues.curious import curious, curious_tasks
from handaxe.synthesis.steps.replay import has_answer, replay_calls
from handaxe.worlds.hops.knowledge_base import build_facts
from handaxe.worlds.hops.world import hops
from handaxe.worlds.world import Exploration

WORLD = hops(size=40)
ENV = WORLD.env(WORLD.tools)
SMALL = {"rollouts": 4, "steps": 8}


def test_tasks_are_of_the_training_half_execute_and_are_new():
    found = curious_tasks(WORLD, ENV, seed=0, **SMALL)
    known = build_facts(seed=0, size=40, distractors=1, digits=True)
    assert found.tasks and found.proposed > found.uncertain > 0 and found.failed == 0
    assert (
        len({one.messages[0].content for one in found.tasks})
        == len({one.id for one in found.tasks})
        == len(found.tasks)
    )
    for task in found.tasks:
        assert task.messages[0].content.split()[0] in known.halves[0]
        assert has_answer(task, replay_calls(task, ENV, 7)[-1])
    plain = curious_tasks(WORLD, ENV, seed=0, rewrites=1, **SMALL).tasks
    assert [one for one in found.tasks if "revealed" not in one.metadata] == plain and len(found.tasks) > len(plain)


def test_confidence_and_execution_filter():
    every = curious_tasks(WORLD, ENV, seed=0, confidence=0.0, **SMALL)
    sure = curious_tasks(WORLD, ENV, seed=0, confidence=1.0, **SMALL)
    assert every.uncertain == 0 < sure.uncertain and len(sure.tasks) < len(every.tasks)

    def wrong(trajectory):
        return [replace(one, answer="nobody") for one in WORLD.exploration.propose(trajectory)]

    broken = replace(WORLD, exploration=Exploration(WORLD.exploration.openings, wrong))
    found = curious_tasks(broken, ENV, seed=0, **SMALL)
    assert found.tasks == [] and found.failed > 0


def test_the_stage_fills_the_pool(world):
    site = world.speaking_site(tasks=task_pool([world.task("t")]), env=ENV)
    (row,) = curious(world=WORLD, **SMALL)(site)
    assert row["tasks"] == len(site.tasks.tasks) > 1 and 0 < row["distinct"] <= 1
    nothing = replace(WORLD, exploration=Exploration(WORLD.exploration.openings, lambda trajectory: []))
    with pytest.raises(InputError, match="gave no task"):
        curious(world=nothing, **SMALL)(site)


def test_wrong_input():
    for options in ({"confidence": 1.5}, {"rewrites": 0}):
        with pytest.raises(InputError, match="give 0 to 1, and 1 or more"):
            curious_tasks(WORLD, ENV, seed=0, **options)
