"""The table of mcp_company by hand, and chains played by scripted policies."""

import pytest

from handaxe.core.metrics import TaskResult
from handaxe.core.records import ToolCall
from handaxe.evaluation.benchmarks.benchmark import Benchmark, PartResult
from handaxe.evaluation.benchmarks.mcp_company import checkpoint_score, company_table, company_world, mcp_company
from handaxe.evaluation.benchmarks.play import play_benchmark
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.testing.scripted_engine import ScriptedEngine


@pytest.mark.parametrize(
    ("points", "total", "score"), [(0, 4, 0.0), (2, 4, 0.25), (3, 4, 0.375), (4, 4, 1.0), (1, 1, 1.0)]
)
def test_score_by_hand_and_by_a_loop(points, total, score):
    assert checkpoint_score(points, total) == score
    reached = [place < points for place in range(total)]
    slow = 0.0
    for one in reached:
        slow += 0.5 / total if one else 0.0
    assert checkpoint_score(points, total) == pytest.approx(slow + (0.5 if all(reached) else 0.0), abs=1e-12)


def part(*scores, steps=2.0):
    """Results with these checkpoint scores; None is a task without a score."""
    made = [
        TaskResult(
            *(str(n), 1, int(one is not None), int(one == 1), float(one == 1), 3.0, 0.0, 0.0, 0.0, {}, {}),
            {} if one is None else {"checkpoint_score": (one, 1.0), "found": (1.0, steps), "progress": (0.0, steps)},
        )
        for n, one in enumerate(scores)
    ]
    return PartResult(tuple(made), len(made), sum(one is None for one in scores))


def test_table_by_hand():
    table = company_table({"prose, 1": part(1.0, 0.25), "prose, 2": part(0.0), "brief, 1": part(None, None)})
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    one = rows["prose, 1 calls"]
    assert (one["score"], one["solved"], one["found"], one["called"], one["calls"]) == (0.625, 0.5, 0.5, 0.0, 3.0)
    assert rows["mean of prose"]["score"] == 0.3125 and rows["mean of prose"]["tasks"] == 3
    brief = rows["brief, 1 calls"]
    assert (brief["score"], brief["calls"], brief["scored"], brief["tasks"]) == (None, None, 0, 2)
    assert table.notes[0].startswith("Tasks of this library in the form of TheMCPCompany")


def played(words):
    """The row of brief chains of one call under a script (task text, turn) -> reply."""
    pytest.importorskip("bfcl_eval")
    pytest.importorskip("bm25s")
    pytest.importorskip("jsonschema")
    made = mcp_company()
    some = [one for one in made.parts if one.name == "brief, 1"]
    benchmark = Benchmark(name="x", parts=tuple(some), table=company_table, max_turns=4, max_tokens=256)
    world = company_world(1, brief=True)
    tasks = {task.messages[-1].content: task for task in world.tasks("test", 2, 0)}

    def script(text, turn):
        (task,) = [one for content, one in tasks.items() if content in text]
        return words(task, turn)

    engine = ScriptedEngine(Transcript(), script)
    found = play_benchmark(benchmark, engine=engine, format=Transcript(), tasks=2)
    assert found["brief, 1"].size == 50
    table = company_table(found)
    return dict(zip(table.columns, table.rows[1], strict=True))


def test_correct_chains_have_score_one_and_a_found_tool_alone_has_a_third_of_the_half():
    def search(step):
        return ToolCall("find_tools", {"query": step["query"]})

    def correct(task, turn):
        (step,) = task.metadata["steps"]
        call = ToolCall("call_tool", {"name": step["name"], "arguments": step["arguments"]})
        return (search(step), call, task.answer)[turn]

    row = played(correct)
    assert (row["score"], row["solved"], row["found"], row["called"], row["calls"]) == (1, 1, 1, 1, 2)
    row = played(lambda task, turn: (search(task.metadata["steps"][0]), "none")[turn])
    assert row["score"] == pytest.approx(1 / 6) and (row["solved"], row["found"], row["called"]) == (0, 1, 0)
