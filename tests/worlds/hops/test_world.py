import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


@pytest.mark.parametrize("brief", [True, False])
def test_hops_keeps_the_world_contract(brief):
    check_world(hops(brief=brief, size=40))


@pytest.mark.parametrize("brief", [True, False])
def test_gold_searches_return_the_fact_first_and_a_distractor_second(brief):
    """With namesakes, and with documents that hold the same words the other way round."""
    world = hops(brief=brief, distractors=4)
    for split in ("train", "test"):
        for task in world.tasks(split, 60, 0):
            one = demonstrate(
                world.env(world.tools), task, world.expert, format=Compact(), context=512 if brief else 1024
            )
            assert world.correct(Group(task, (one,))).outcome[0] == 1 and one.ending.kind == "completed"
            assert len(one.calls) == task.metadata["hops"]
            for reply, key, answer in zip(one.replies, task.metadata["gold_documents"], task.metadata["gold_answers"]):
                first, second = reply.content.splitlines()
                assert first.startswith(f"[{key}]") and first.rstrip(".").endswith(f" {answer}")
                assert not second.startswith(f"[{key}]")


def test_each_query_contains_the_previous_answer():
    for task in hops(lengths=(3, 4), size=60).tasks("train", 40, 1):
        gold = task.metadata
        fed = [call["arguments"]["query"].split()[0] for call in gold["gold_calls"]]
        assert fed[1:] == gold["gold_answers"][:-1] and gold["gold_answers"][-1] == task.answer
        assert task.messages[0].content == f"{fed[0]} {' '.join(gold['path'])}?"


def test_repeats_duplicate_searches_of_the_expert():
    world = hops(lengths=(2, 3), size=60, repeats=0.5)
    twice, gauge = 0, world.gauges["repeated_calls"]
    for task in world.tasks("train", 60, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), context=512)
        repeated = gauge.top(one, 1.0)
        assert world.correct(Group(task, (one,))).outcome[0] == 1 and repeated in (0, 1)
        assert len(one.calls) == task.metadata["hops"] + repeated
        assert len({reply.content for reply in one.replies}) == task.metadata["hops"]
        twice += repeated
    assert 20 <= twice <= 40
    with pytest.raises(InputError, match="repeats is 2"):
        hops(size=40, repeats=2)


def test_notes_state_the_remaining_question_beside_each_search():
    world = hops(lengths=(2, 3), size=60, repeats=0.5, notes=True)
    check_world(world)
    for task in world.tasks("train", 20, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), context=512)
        *searching, last = one.turns
        for turn in searching:
            left = turn.parsed.text
            assert left.startswith(turn.parsed.calls[0].arguments["query"]) and not world.is_answer(turn)
            assert left.split()[1:] == task.metadata["path"][-len(left.split()) + 1 :]
        assert searching[0].parsed.text + "?" == task.messages[0].content and last.parsed.text == task.answer
        assert len({turn.parsed.text for turn in searching}) == task.metadata["hops"]
        assert world.correct(Group(task, (one,))).outcome[0] == 1


def test_only_brief_hops_has_a_start():
    assert hops(size=40).start is not None and hops(size=40, brief=False).start is None


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="hops must be 1 to 4"):
        hops(lengths=(5,), size=40).tasks("train", 1, 0)
    with pytest.raises(InputError, match="16 to 900 people"):
        hops(size=3)
