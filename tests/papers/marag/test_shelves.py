import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.marag.shelves import KINDS, found_documents, gold_documents, needed_calls, shelves
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def small(**changes):
    return shelves(**{"kinds": KINDS, "authors": 8, "size": 30, **changes})


def test_shelves_keeps_the_world_contract():
    check_world(shelves(authors=40, size=120, kinds=KINDS), count=6)


def test_the_expert_finds_the_documents_in_needed_calls():
    world = small()
    for task in world.tasks("train", 24, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        assert len(one.calls) == needed_calls(task) == (4 if task.metadata["kind"] == "shared" else 2)
        assert found_documents(one) == gold_documents(task) != set()
        assert world.gauges["document_f1"].top(one, 1.0) == 1


def test_document_f1_penalizes_guesses_and_supersets():
    world = small(kinds=("count",))
    task = world.tasks("train", 1, 0)[0]
    guess = demonstrate(world.env(world.tools), task, lambda t, f: Message("assistant", t.answer), format=Compact())
    assert found_documents(guess) == set() and world.gauges["document_f1"].top(guess, 1.0) == 0

    def greedy(task, facts):
        if facts["turn"] < 2:
            room = ToolCall("filter_by", {"field": "room", "value": "1"})
            return Message("assistant", "", (room if facts["turn"] == 0 else ToolCall("count", {"among": "all"}),))
        return Message("assistant", task.answer)

    much = demonstrate(world.env(world.tools), task, greedy, format=Compact())
    gold = len(gold_documents(task))
    assert len(found_documents(much)) == 30 and world.gauges["document_f1"].top(much, 1.0) == 2 * gold / (30 + gold)


def test_found_documents_are_the_last_queried_or_created_set():
    world = small(kinds=("shared",))
    for task in world.tasks("train", 12, 0):
        for calls, found in (((), 0), ((ToolCall("count", {"among": "all"}),), 0), (first_two(task), 1)):

            def some(task, facts, calls=calls):
                made = calls[facts["turn"] : facts["turn"] + 1]
                return Message("assistant", "" if made else task.answer, tuple(made))

            one = demonstrate(world.env(world.tools), task, some, format=Compact())
            assert bool(found_documents(one)) == bool(found)
            assert found or world.gauges["document_f1"].top(one, 1.0) == 0


def first_two(task):
    return [ToolCall(one["name"], one["arguments"]) for one in task.metadata["gold_calls"][:2]]


def test_invalid_arguments_raise():
    for wrong, said in (({"kinds": ("most",)}, "kinds"), ({"authors": 4}, "authors"), ({"size": 9}, "documents")):
        with pytest.raises(InputError, match=said):
            small(**wrong)
    with pytest.raises(TaskError, match="empty"):
        small().tasks("train", 0, 0)
