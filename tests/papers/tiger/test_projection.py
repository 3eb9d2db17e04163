import pytest

from handaxe.core.errors import InputError, Retry, TaskError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tiger.projection import camera, plane, projection
from handaxe.papers.tiger.reply_match import reply_match
from handaxe.rewards.graded_call import graded_call
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.mark.parametrize("solver", ["calculator", "python"])
def test_projection_keeps_the_world_contract(solver):
    check_world(projection(solver=solver), count=12 if solver == "calculator" else 3)


def test_projection_matches_its_examples():
    assert camera("417") == "60 62" and 60 * 6 // 3 + 62 == 182
    assert plane("208") == "8 5 36"
    for name in ("41", "4171", "abc", "017", "\u0664\u0661\u0667"):
        with pytest.raises(Retry, match="three digits"):
            camera(name)


def test_answers_follow_from_the_lookups():
    for task in projection().tasks("test", 60, 0):
        words = task.messages[0].content.rstrip("?").split()
        value = {words[i]: int(words[i + 1]) for i in range(2, len(words) - 1, 2)}
        answer = int(task.answer)
        if task.metadata["kind"] == "height":
            a, b, c = map(int, plane(words[1]).split())
            assert answer == a * value["x"] + b * value["y"] + c
            continue
        focal, middle = map(int, camera(words[1]).split())
        x, u = (value["x"], answer) if task.metadata["kind"] == "project" else (answer, value["u"])
        assert (u - middle) * value["z"] == focal * x


def test_questions_do_not_contain_the_lookups():
    """Or looking it up would not be needed."""
    tasks = projection(kinds=("project",)).tasks("train", 300, 0)
    known = {}
    for task in tasks:
        question = task.messages[0].content.split()
        known.setdefault((question[3], question[5]), set()).add(task.answer)
    assert len(known) == 45 and min(map(len, known.values())) > 1


def test_gold_calls_earn_every_part():
    world = projection(kinds=("back",))
    (task,) = world.tasks("train", 1, 0)
    one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), context=512)
    group = Group(task, (one,))
    channels = graded_call(gold=world.reference)(group).channels
    assert {name: value.tolist() for name, value in channels.items()} == {"names": [1], "keys": [1], "values": [1]}
    assert reply_match(tools=("calculator",))(group).outcome.tolist() == [1]
    assert [turn.parsed.calls[0].name for turn in one.turns[:2]] == ["camera", "calculator"] and len(one.turns) == 3


def test_a_near_number_is_incorrect():
    world = projection(kinds=("project",))
    (task,) = world.tasks("train", 1, 0)
    for off, hit in ((0, 1), (1, 0)):
        said = str(int(task.answer) + off)
        one = demonstrate(
            world.env(()), task, lambda task, facts, said=said: Message("assistant", said), format=Compact()
        )
        assert world.correct(Group(task, (one,))).outcome[0] == hit


def test_splits_share_no_camera():
    named = {
        split: {
            ToolCall(**task.metadata["gold_calls"][0]).arguments["name"] for task in projection().tasks(split, 200, 0)
        }
        for split in ("train", "test")
    }
    assert not named["train"] & named["test"]


def test_invalid_arguments_raise():
    for options in ({"kinds": ()}, {"kinds": ("rotate",)}, {"solver": "abacus"}):
        with pytest.raises(InputError, match="kinds are some of"):
            projection(**options)
    with pytest.raises(TaskError, match="empty"):
        projection().tasks("train", 0, 0)
