"""Scenes: a correct oracle and an honest wrong rollout."""

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.scenes import make_scenes, play, script, turn_messages
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.calculator import calculator
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import World


def own(answers, **fields):
    tasks = [Task(f"t{k}", (Message("user", f"question {k}"),), one) for k, one in enumerate(answers)]
    return World(
        name="own", tasks=lambda split, count, seed: tasks[:count], env=tool_chat, correct=exact_match(), **fields
    )


def test_the_oracle_is_correct_and_the_wrong_rollout_equally_well_formed():
    world = arithmetic(easy=0.0)
    for scene in make_scenes(world, count=2):
        right, wrong = world.correct(Group(scene.task, (scene.oracle, scene.wrong))).outcome
        assert (right, wrong) == (1.0, 0.0)
        for played in (scene.wrong, scene.oracle):
            assert [len(one.calls) for one in turn_messages(played)] == [1, 0]
        assert scene.oracle.replies[0].content == scene.task.answer  # tools really answered
        assert scene.distractors and all(turn_messages(one) != turn_messages(scene.oracle) for one in scene.distractors)


def test_without_an_expert_the_oracle_gives_the_answer():
    (scene, *_) = make_scenes(own(["ja", ["b", "c"], "d"]), count=3)
    assert scene.oracle.final_text == "ja" and scene.wrong.final_text == "b"
    with pytest.raises(InputError, match="has no answer and its world no expert"):
        make_scenes(own([None, "b"]))


def test_tasks_with_equal_answers_give_no_scene():
    with pytest.raises(InputError, match="no rollout of one task is wrong"):
        make_scenes(own(["ja", "ja"]))
    with pytest.raises(InputError, match="two or more"):
        make_scenes(own(["ja"]))


def test_a_script_repeats_its_last_turn():
    world = own(["ja", "b"], tools=(calculator,))
    call = Message("assistant", "", (ToolCall("calculator", {"expression": "1+1"}),))
    one = play(world, world.tools, world.tasks("test", 1, 0)[0], script(call, call))
    assert len(one.turns) == 16 and one.ending.kind == "truncated"
    assert play(world, (), world.tasks("test", 1, 0)[0], script()).final_text == ""
