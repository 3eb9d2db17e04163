import pytest

pytest.importorskip("bm25s")
pytest.importorskip("bfcl_eval")

from handaxe.core.records import ToolCall
from handaxe.papers.deepagent.found_box import FoundBox
from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue, brief_tasks

TASKS = brief_tasks(brief_catalogue(), lengths=(2,), split="train", count=20, seed=0)
STEPS = TASKS[0].metadata["steps"]


def box(steps=STEPS):
    return FoundBox(brief_catalogue(), steps, results=1)


def find(made, step):
    return made.find_tools.run(ToolCall("find_tools", {"query": step["query"]}, "c"))


def call_of(step, arguments=None):
    return ToolCall("call_tool", {"name": step["name"], "arguments": arguments or step["arguments"]}, "c")


def call(made, step, arguments=None):
    return made.call_tool.run(call_of(step, arguments))


def test_a_tool_enters_with_the_search_result_that_lists_it():
    made = box()
    early = call(made, STEPS[0])
    assert early.status == "retry" and "not found yet" in early.content and made.report()["entered"] == 0
    assert find(made, STEPS[0]).content.split()[0] == STEPS[0]["name"]
    assert call(made, STEPS[0]).content == str(STEPS[0]["value"])
    assert call(made, STEPS[1]).status == "retry"
    report = made.report()
    assert (report["made"], report["entered"], report["calls"], report["useful"]) == ([True, False], 1, 3, 1)


def test_without_a_simulator_results_equal_those_of_the_toolbox():
    for task in TASKS:
        made, steps = box(task.metadata["steps"]), task.metadata["steps"]
        for step in steps:
            find(made, step)
            assert call(made, step).content == str(step["value"])
        assert made.report()["result"] == task.answer and all(made.report()["made"])


def test_a_repeated_call_is_useful_once():
    made = box()
    find(made, STEPS[0])
    call(made, STEPS[0])
    call(made, STEPS[0])
    assert (made.report()["calls"], made.report()["useful"]) == (2, 1)


FRACTIONAL = next(
    task.metadata["steps"]
    for task in TASKS
    for name, value in task.metadata["steps"][1]["arguments"].items()
    if value == task.metadata["steps"][0]["value"]
    and brief_catalogue().entries[task.metadata["steps"][1]["name"]].document["parameters"]["properties"][name]["type"]
    == "float"
)
"""Steps whose chained argument may be a fraction."""


@pytest.mark.parametrize("steps, text, value", [(STEPS, "77", 77), (STEPS, "-77", -77), (FRACTIONAL, "1963.5", 1963.5)])
def test_a_simulated_result_is_the_chained_argument_of_the_next_step(steps, text, value):
    made, (first, second) = box(steps), steps
    chained = next(name for name, value in second["arguments"].items() if value == first["value"])
    find(made, first)
    made.give(call_of(first), text)
    assert call(made, first).content == text
    find(made, second)
    call(made, second)
    assert made.report()["made"] == [True, False]
    call(made, second, {**second["arguments"], chained: value})
    assert made.report()["made"] == [True, True] and made.report()["result"] == str(second["value"])


def test_only_accepted_calls_of_found_tools_are_simulated_and_each_once():
    made = box()
    assert made.described(call_of(STEPS[0])) is None
    find(made, STEPS[0])
    assert STEPS[0]["name"] in made.described(call_of(STEPS[0]))
    for bad in ({"name": STEPS[0]["name"]}, {"name": 3, "arguments": {}}, {"name": STEPS[0]["name"], "arguments": {}}):
        assert made.described(ToolCall("call_tool", bad, "c")) is None
    assert made.described(ToolCall("find_tools", {"query": "1"}, "c")) is None
    made.give(call_of(STEPS[0]), "5")
    assert made.described(call_of(STEPS[0])) is None


@pytest.mark.parametrize("text", ["about six", "NaN", "1" * 400, "1,963.5", "true", "[1]"])
def test_a_text_that_is_no_number_stays_a_text(text):
    made = box()
    find(made, STEPS[0])
    made.give(call_of(STEPS[0]), text)
    assert call(made, STEPS[0]).content == text
    find(made, STEPS[1])
    assert call(made, STEPS[1]).status == "ok" and made.report()["made"] == [True, False]


def test_snapshots_restore_entries_replies_and_counts():
    made, other = box(), box()
    find(made, STEPS[0])
    made.give(call_of(STEPS[0]), "77")
    call(made, STEPS[0])
    made.fold_memory.run(ToolCall("fold_memory", {}, "c"))
    other.restore(made.snapshot())
    assert other.report() == made.report() and other.report()["folds"] == 1
    assert call(other, STEPS[0]).content == "77" and made.report()["calls"] == 1
