"""Chains of the world `toolbox` in one task."""

import pytest

from handaxe.core.records import Message, Task
from handaxe.evaluation.benchmarks.compound_tasks import compound_task, compound_tasks
from handaxe.worlds.toolbox.world import toolbox


def chain(name, text, *functions):
    steps = [{"function": one, "value": 1000 + n} for n, one in enumerate(functions)]
    return Task(name, (Message("user", text),), str(steps[-1]["value"]), None, {"length": len(steps), "steps": steps})


def test_brief_chains_stand_side_by_side():
    made = compound_task([chain("x", "5526 25, 1390 * 7", "a", "b"), chain("y", "8112 3", "c")], brief=True)
    assert made.id == "tps-x" and made.messages == (Message("user", "5526 25, 1390 * 7; 8112 3"),)
    assert made.answer == "1001, 1000" and made.metadata["chains"] == [2, 1] and made.metadata["length"] == 3
    assert [one["function"] for one in made.metadata["steps"]] == ["a", "b", "c"]


def test_chains_in_prose_keep_their_numbers_and_lose_their_last_line():
    first = chain("x", "1. Area of 3?\nPlease.\n2. Root of <1>?\nReply with the result.", "a", "b")
    made = compound_task([first, chain("y", "1. Age?\nReply with the result.", "c")], brief=False)
    text = made.messages[0].content
    assert text.startswith("Chain 1\n1. Area of 3?\nPlease.\n2. Root of <1>?\n\nChain 2\n1. Age?\n\nFind a tool")
    assert "Reply with the result." not in text and text.endswith("of all chains, separated by commas.")


@pytest.mark.parametrize("split", ["train", "test"])
def test_tasks_have_different_functions_and_do_not_depend_on_the_number(split):
    for package in ("bfcl_eval", "bm25s", "jsonschema"):
        pytest.importorskip(package)
    tasks = compound_tasks(toolbox(lengths=(2,)), chains=2, brief=True)
    some = tasks(split, 25, 0)
    assert len(some) == 25 and len({one.id for one in some}) == 25 and tasks(split, 5, 0) == some[:5]
    for one in some:
        functions = [step["function"] for step in one.metadata["steps"]]
        assert len(set(functions)) == 4 == one.metadata["length"] and one.metadata["chains"] == [2, 2]
    assert tasks(split, 1, 1)[0] != some[0]
