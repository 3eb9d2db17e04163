from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.models.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.hints import with_hints, with_tips
from handaxe.worlds.sums import sums


def test_the_expert_of_a_hinted_world_speaks_after_hints_and_in_any_other_without():
    plain = replace(sums(), criteria=lambda task: [Criterion("a", "Do a."), Criterion("b", "Do b.")])
    world = with_hints(plain, fraction=0.5)
    (task,) = world.tasks("train", 1, 0)
    env = world.env(world.tools)
    first, second = (
        demonstrate(env, task, one.expert, format=Compact(), max_turns=4, rollout=one.plays(4))
        for one in (world, plain)
    )
    assert first.messages[0].name == "hint" and first.messages[0].content.count("Do ") == 1
    assert first.messages[1:] == second.messages and first.task == second.task == task
    assert world.correct is plain.correct and with_hints(world).name == "sums"


def test_tips_are_of_other_tasks_and_the_expert_does_what_its_own_takes():
    plain = sums()
    world, always = with_tips(plain, known=20), with_tips(plain, known=20, share=1.0)
    env, known = plain.env(plain.tools), {task.messages[-1].content for task in plain.tasks("train", 20, 0)}
    told = []
    for task in plain.tasks("train", 30, 0):
        first, second, third = (
            demonstrate(env, task, one.expert, format=Compact(), max_turns=4, rollout=one.plays(4))
            for one in (world, always, plain)
        )
        told.append(first.messages[0].name == "hint")
        if second.messages[0].name == "hint":
            (line,) = second.messages[0].content.splitlines()[1:]
            asked = line.removeprefix("In ").partition(": It calls ")[0][1:-1]
            assert asked in known and asked != task.messages[-1].content
            assert second.messages[1:] == third.messages
    assert 5 < sum(told) < 25


def test_what_is_refused():
    with pytest.raises(InputError, match="share from 0 to 1"):
        with_tips(sums(), share=2.0)
    with pytest.raises(InputError, match="has no 'reference'"):
        with_tips(replace(sums(), reference=None))
    with pytest.raises(InputError, match="no 'criteria'"):
        with_hints(sums())
    with pytest.raises(InputError, match="give 0 to 1"):
        with_hints(replace(sums(), criteria=lambda task: []), fraction=1.5)
