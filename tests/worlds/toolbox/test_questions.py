import itertools

import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.worlds.bfcl.tasks import all_tasks
from handaxe.worlds.toolbox.catalogue import full_catalogue, function_split, stub_value
from handaxe.worlds.toolbox.questions import accepts, full_tasks, make_step, split_questions


def chains(split, *, count=6, lengths=(1, 2, 3), results=5, kind="chain", seed=0):
    return full_tasks(
        full_catalogue(), kind=kind, lengths=lengths, results=results, split=split, count=count, seed=seed
    )


def test_functions_of_test_do_not_occur_in_train_questions():
    used = {
        split: {name for one in split_questions(split) for accepted in one.accepted for name in accepted}
        for split in ("train", "test")
    }
    assert not used["train"] & used["test"]
    texts = [{one.text for one in split_questions(split)} for split in ("train", "test")]
    assert not texts[0] & texts[1]
    for split, functions in used.items():
        assert {function_split(one) for one in functions} == {split}


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_later_step_has_the_result_before_it_as_argument(split):
    for task in chains(split, lengths=(3,)):
        steps = task.metadata["steps"]
        text = task.messages[0].content
        assert task.answer == str(steps[-1]["value"]) and len({one["function"] for one in steps}) == 3
        for number, (before, after) in enumerate(itertools.pairwise(steps), 1):
            assert f"<{number}>" in text
            assert str(before["value"]) in map(str, after["arguments"].values())
            assert str(before["value"]) not in text
        assert [one["value"] for one in steps] == [stub_value(one["function"], one["arguments"]) for one in steps]


@pytest.mark.parametrize("kind, results", [("chain", 1), ("question", 5)])
def test_the_query_of_a_step_finds_its_tool_and_the_tool_takes_the_reference_arguments(kind, results):
    catalogue = full_catalogue()
    for task in (*chains("train", kind=kind), *chains("test", kind=kind)):
        for step in task.metadata["steps"]:
            assert step["name"] in [one.name for one in catalogue.find(step["query"], results)]
            assert catalogue.call(step["name"], step["arguments"]).status == "ok"


def test_a_question_asks_for_the_results_of_all_its_calls():
    tasks = {one.id: one for one in chains("train", kind="question", count=40)}
    several = [one for one in tasks.values() if one.metadata["length"] > 1]
    assert several
    for task in several:
        assert task.answer == ", ".join(str(one["value"]) for one in task.metadata["steps"])
    known = {f"toolbox-{one.id}": one for one in all_tasks("parallel")}
    shared = [(tasks[name], known[name]) for name in tasks if name in known]
    for task, question in shared:
        assert [one["arguments"] for one in task.metadata["steps"]] == [
            one["arguments"] for one in question.metadata["gold"]
        ]


def test_arguments_that_bfcl_accepts_are_accepted_for_the_step():
    catalogue = full_catalogue()
    name = "calculate_triangle_area"
    accepted = {"base": [10], "height": [5], "unit": ["units", ""]}
    step = make_step(name, name, "simple_python", accepted, {"base": 10, "height": 5}, "")
    entry = catalogue.entries[name]
    assert accepts(step, entry, {"base": 10, "height": 5}) and accepts(
        step, entry, {"base": 10, "height": 5, "unit": "Units"}
    )
    assert not accepts(step, entry, {"base": 10, "height": 6})
    assert not accepts(step, catalogue.entries["math_factorial"], {"base": 10, "height": 5})


@pytest.mark.slow
def test_all_but_a_few_questions_have_a_query_that_finds_their_tools():
    shares = []
    for split in ("train", "test"):
        known = split_questions(split)
        shares.append(len(chains(split, kind="question", count=len(known))) / len(known))
    assert min(shares) > 0.97
