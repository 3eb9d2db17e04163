from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.hints import add_hints, add_tips


def test_with_hints_adds_hints_to_demonstrations():
    plain = replace(arithmetic(), criteria=lambda task: [Criterion("a", "Do a."), Criterion("b", "Do b.")])
    world = add_hints(plain, fraction=0.5)
    (task,) = world.tasks("train", 1, 0)
    env = world.env(world.tools)
    first, second = (
        demonstrate(env, task, one.expert, format=Compact(), max_turns=4, rollout=one.make_rollout(4))
        for one in (world, plain)
    )
    assert first.messages[0].name == "hint" and first.messages[0].content.count("Do ") == 1
    assert first.messages[1:] == second.messages and first.task == second.task == task
    assert world.correct is plain.correct and add_hints(world).name == "arithmetic"


def test_with_tips_adds_calls_of_other_tasks_and_keeps_the_expert():
    plain = arithmetic()
    world, always = add_tips(plain, known=20), add_tips(plain, known=20, share=1.0)
    env, known = plain.env(plain.tools), {task.messages[-1].content for task in plain.tasks("train", 20, 0)}
    told = []
    for task in plain.tasks("train", 30, 0):
        first, second, third = (
            demonstrate(env, task, one.expert, format=Compact(), max_turns=4, rollout=one.make_rollout(4))
            for one in (world, always, plain)
        )
        told.append(first.messages[0].name == "hint")
        if second.messages[0].name == "hint":
            (line,) = second.messages[0].content.splitlines()[1:]
            asked = line.removeprefix("In ").partition(": It calls ")[0][1:-1]
            assert asked in known and asked != task.messages[-1].content
            assert second.messages[1:] == third.messages
    assert 5 < sum(told) < 25


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="share from 0 to 1"):
        add_tips(arithmetic(), share=2.0)
    with pytest.raises(InputError, match="has no 'reference'"):
        add_tips(replace(arithmetic(), reference=None))
    with pytest.raises(InputError, match="no 'criteria'"):
        add_hints(arithmetic())
    with pytest.raises(InputError, match="give 0 to 1"):
        add_hints(replace(arithmetic(), criteria=lambda task: []), fraction=1.5)
