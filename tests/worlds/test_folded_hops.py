import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.methods.build import make_method, make_world
from handaxe.methods.run_spec import run_template
from handaxe.models.compact import Compact
from handaxe.rollouts.folding import SPEAKER
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.folded_hops import folded_hops
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def shown(world, task, tools=None):
    tools = world.tools if tools is None else tools
    return demonstrate(world.env(tools), task, world.expert, format=Compact(), rollout=world.plays(8))


def test_the_contract():
    check_world(folded_hops(size=40), count=20)


def test_the_example():
    """What was searched for before the fold is not read after it; the question that is left is."""
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


def test_what_needs_no_more_searches_is_not_folded():
    world = folded_hops(lengths=(1, 2, 3), after=2, size=40)
    for task in world.tasks("test", 20, 0):
        one = shown(world, task)
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        folds = world.gauges["folds"].top(one, 1.0)
        assert folds == (task.metadata["hops"] > 2) == len(one.sequences) - 1
        precision = world.gauges["call_precision"]
        assert precision.top(one, 1.0) == precision.bottom(one, 1.0) == task.metadata["hops"]


def test_a_recipe_that_leaves_the_rollout_alone_folds_and_rewards_it():
    chosen = run_template("deepagent", world="folded_hops").read({"max_turns": 6})
    world = make_world(chosen)
    method, task = make_method(chosen, world), folded_hops(lengths=(2,)).tasks("train", 1, 0)[0]
    one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), rollout=method.rollout)
    assert len(one.sequences) == 2
    channels = method.reward(Group(task, (one,))).channels
    assert channels["success"] == [1.0] and channels["action"] == [2.5]


def test_what_cannot_be():
    with pytest.raises(InputError, match="after is 0"):
        folded_hops(after=0)
    world = folded_hops(size=40)
    with pytest.raises(InputError, match="does not offer 'fold_memory'"):
        shown(world, world.tasks("train", 1, 0)[0], tools=(calculator,))
