"""The expert solves a task again."""

from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.solve import solve
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
DRAFTS = [task_draft(one) for one in WORLD.tasks("train", 6, 0)]


def test_tasks_that_the_expert_solves_are_kept_with_the_number_of_turns():
    outcomes = solve(WORLD, WORLD.env(WORLD.tools)).run(DRAFTS, SynthesisContext(0))
    assert all(one.kept[0].notes["turns"] in (1, 2) for one in outcomes)


def test_tasks_that_the_expert_fails_are_dropped():
    silent = replace(WORLD, expert=lambda task, facts: Message("assistant", "no idea"))
    outcomes = solve(silent, WORLD.env(WORLD.tools)).run(DRAFTS, SynthesisContext(0))
    assert {one.reason for one in outcomes} == {"the expert fails"}


def test_a_world_without_an_expert_is_refused():
    with pytest.raises(InputError, match="has no 'expert'"):
        solve(replace(WORLD, expert=None), WORLD.env(WORLD.tools))
    with pytest.raises(InputError, match="give 1 or more"):
        solve(WORLD, WORLD.env(WORLD.tools), tries=0)
