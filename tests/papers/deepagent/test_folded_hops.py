import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.deepagent.folded_hops import folded_hops
from handaxe.rollouts.folding import SPEAKER
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def shown(world, task, tools=None):
    tools = world.tools if tools is None else tools
    return demonstrate(world.env(tools), task, world.expert, format=Compact(), rollout=world.make_rollout(8))


def test_folded_hops_keeps_the_world_contract():
    check_world(folded_hops(size=40), count=20)


def test_a_fold_removes_old_searches_and_keeps_the_remaining_question():
    """Searches before the fold are not in the context after the fold; the remaining question is."""
    world = folded_hops(lengths=(2,), size=40)
    task = world.tasks("train", 1, 0)[0]
    one = shown(world, task)
    start, (found, answer), (first, last) = (
        task.messages[0].content.split()[0],
        task.metadata["gold_answers"],
        task.metadata["path"],
    )
    calls = [(call.name, *call.arguments.values()) for call in one.calls]
    left = f"{found} {last}?"
    assert calls == [("search", f"{start} {first}"), ("fold_memory", left), ("search", f"{found} {last}")]
    assert one.final_text == answer == task.answer and len(one.sequences) == 2
    again = Compact().decode(one.sequences[1].ids)
    assert task.messages[0].content in again and f"Your memory: {left}" in again
    assert f"[{start} {first}]" not in again and f"[{start} {first}]" in Compact().decode(one.sequences[0].ids)
    assert [m.content for m in one.messages if m.name == SPEAKER] == [f"Your memory: {left}"]


def test_questions_without_further_searches_are_not_folded():
    world = folded_hops(lengths=(1, 2, 3), fold_after=2, size=40)
    for task in world.tasks("test", 20, 0):
        one = shown(world, task)
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        folds = world.gauges["folds"].top(one, 1.0)
        assert folds == (task.metadata["hops"] > 2) == len(one.sequences) - 1
        precision = world.gauges["call_precision"]
        assert precision.top(one, 1.0) == precision.bottom(one, 1.0) == task.metadata["hops"]


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="fold_after is 0"):
        folded_hops(fold_after=0)
    world = folded_hops(size=40)
    with pytest.raises(InputError, match="does not offer 'fold_memory'"):
        shown(world, world.tasks("train", 1, 0)[0], tools=(calculator,))
