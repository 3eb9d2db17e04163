import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.ikea.facts import facts
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def test_facts_keeps_the_world_contract():
    check_world(facts(size=16), count=12)


def test_memorized_answers_need_no_search_unless_unsure():
    world = facts(size=16)
    for task in world.tasks("test", 12, 0):
        sure = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        doubts = demonstrate(
            world.env(world.tools), task, lambda t, f: world.expert(t, {**f, "sure": False}), format=Compact()
        )
        assert len(sure.calls) == (task.metadata["known"] == "no") and len(doubts.calls) == 1
        for one in (sure, doubts):
            assert world.correct(Group(task, (one,))).outcome[0] == 1
        needless = world.gauges["wasted_calls"]
        assert needless.top(doubts, 1.0) == (task.metadata["known"] == "yes") and needless.bottom(doubts, 1.0) == 1


def test_warmup_covers_all_memorized_facts_in_other_wordings():
    world = facts(size=16)
    taught = dict(world.start.warmup)
    asked = [task for split in ("train", "test") for task in world.tasks(split, 40, 0)]
    assert not set(taught) & {task.messages[0].content for task in asked}
    for task in asked:
        key = task.messages[0].content.rstrip("?")
        told = {answer for said, answer in world.start.warmup if key in said}
        assert told == ({task.answer} if task.metadata["known"] == "yes" else set())


def test_both_kinds_of_questions_occur():
    kinds = [task.metadata["known"] for task in facts(size=16).tasks("train", 60, 0)]
    assert 15 < kinds.count("yes") < 45


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="8 to 900 people"):
        facts(size=3)
    with pytest.raises(TaskError, match="empty"):
        facts(size=16).tasks("train", 0, 0)
    with pytest.raises(InputError, match="split"):
        facts(size=16).tasks("dev", 1, 0)
