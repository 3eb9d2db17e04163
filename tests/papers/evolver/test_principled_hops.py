import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.evolver.principle_tool import memory_of
from handaxe.papers.evolver.principled_hops import LESSON, principled_hops
from handaxe.testing import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bm25s")
pytest.importorskip("sentence_transformers")


def played(world, task):
    one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), max_turns=6)
    return one, float(world.correct(Group(task, (one,))).outcome[0])


def first_reply(one):
    return next(message.content for message in one.messages if message.role == "tool")


def test_principled_hops_keep_the_world_contract():
    check_world(principled_hops(), count=8)


def test_a_lesson_replies_with_its_own_lines_whatever_the_memory_holds():
    world = principled_hops()
    memory_of(world).store.offer("+ K: idol idol", success=True, trajectory="t")
    for task in world.tasks("train", 8, 0):
        one, right = played(world, task)
        lines = task.metadata[LESSON]
        assert right == 1.0 and first_reply(one) == ("\n".join(lines) or "none")
        assert task.metadata["code"] == "plain" or any(
            line.startswith(f"+ 0000 {task.metadata['code']}: ") for line in lines
        )
        assert "\n" not in task.messages[-1].content and one.env["state"]["PrincipleSearch"] == {"used": []}


def test_other_questions_search_the_memory():
    world = principled_hops(codes=2)
    task = world.tasks("test", 1, 0)[0]
    path = " ".join(task.metadata["path"])
    assert first_reply(played(world, task)[0]) == "none"
    text = f"+ {task.metadata['code']}: {path}"
    memory_of(world).store.offer(text, success=True, trajectory="t")
    one, right = played(world, task)
    assert right == 1.0 and first_reply(one) == f"+ 0000 {task.metadata['code']}: {path}"
    assert one.env["state"]["PrincipleSearch"] == {"used": [text]}


def test_shares_of_lessons_are_those_of_the_option():
    tasks = principled_hops(lessons=0.5).tasks("train", 200, 1)
    lessons = [task for task in tasks if LESSON in task.metadata]
    assert 75 <= len(lessons) <= 125
    codes = {task.metadata["code"]: task.metadata["path"] for task in tasks if LESSON not in task.metadata}
    assert len(codes) == 6, "one meaning in all other questions"
    for task in tasks:
        if LESSON not in task.metadata:
            assert task.metadata["path"] == codes[task.metadata["code"]] and not task.metadata["known"]
    assert not any(LESSON in task.metadata for task in principled_hops(lessons=1.0).tasks("test", 20, 1))


def test_shares_out_of_range_are_refused():
    with pytest.raises(InputError, match="lessons is 2: give a share"):
        principled_hops(lessons=2)
