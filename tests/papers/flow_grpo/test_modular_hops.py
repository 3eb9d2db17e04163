from dataclasses import replace

import pytest

pytest.importorskip("bm25s")

from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.flow_grpo.modular_hops import modular_hops
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

FALLS = (
    "The answer is read off the search results, not the final text: a rollout with searches for the "
    "correct entities, also in full-width letters (the search normalizes), is correct."
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def played(world, task, queries, turns=8):
    says = [Message("assistant", "", (ToolCall("search", {"query": query}),)) for query in queries]

    def planner(task, facts):
        return says[facts["turn"]] if facts["turn"] < len(says) else Message("assistant", "1234")

    return demonstrate(world.env(world.tools), task, planner, format=Compact(), rollout=world.make_rollout(turns))


def test_modular_hops_keeps_the_world_contract():
    check_world(modular_hops(size=40), count=12)


def test_the_rules_end_the_rollout_and_generate_the_answer():
    world = modular_hops(lengths=(2,), size=40)
    task = world.tasks("train", 1, 0)[0]
    first, second = (call["arguments"]["query"] for call in task.metadata["gold_calls"])
    right = played(world, task, [first, second])
    assert right.ending.kind == "completed" and right.env["answer"] == task.answer and len(right.sequences) == 2
    memory = Compact().decode(right.sequences[1].ids)
    assert f"search {first}: [{first}] {first} {task.metadata['gold_answers'][0]}<END><ASSISTANT>" in memory
    wasteful = played(world, task, [first, first, second])
    assert wasteful.env["answer"] == task.answer and world.gauges["wasted_calls"].top(wasteful, 1.0) == 1
    outcome = world.correct(Group(task, (right, wasteful, played(world, task, [first], turns=3)))).outcome
    assert outcome.tolist() == [1, 1, 0]


def test_an_incomplete_chain_has_no_answer():
    """A guessed path without its facts is no chain, and the planner's text is no answer."""
    world = modular_hops(lengths=(2,), size=40)
    task = world.tasks("train", 1, 0)[0]
    second = task.metadata["gold_calls"][1]["arguments"]["query"]
    one = played(world, task, [second], turns=3)
    assert one.env["answer"] == "" and one.ending.reason == "turns"
    assert not any(entry["enough"] for entry in one.env["memory"])


def test_the_rules_read_question_and_memory_only():
    """The rules give the same results without the task's answer and metadata."""
    world = modular_hops(lengths=(2,), size=40)
    task = world.tasks("train", 1, 0)[0]
    queries = [call["arguments"]["query"] for call in task.metadata["gold_calls"]]
    blind = played(world, replace(task, answer=None, metadata={}), queries)
    assert blind.env["answer"] == task.answer and blind.ending.kind == "completed"
