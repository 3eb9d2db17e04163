"""Tasks of TPS-Bench played by scripted policies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.records import Message, ToolCall
from handaxe.evaluation.benchmarks.benchmark import Benchmark
from handaxe.evaluation.benchmarks.play import play_benchmark
from handaxe.evaluation.benchmarks.scheduling import parallel_plan, sequential_plan
from handaxe.evaluation.benchmarks.tps_bench import selection_score, tps_bench, tps_world
from handaxe.evaluation.benchmarks.tps_table import tps_table
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.testing import scripted_engine
from handaxe.testing.scripted_engine import ScriptedEngine

NAMES = st.sets(st.sampled_from("abcdef"))


def test_selection_by_hand():
    """Called a, b and x of needed a, b, c and d: precision 2/3, recall 1/2, F1 4/7."""
    assert selection_score({"a", "b", "x"}, set("abcd")) == pytest.approx(4 / 7, abs=1e-12)
    assert selection_score(set(), {"a"}) == 0 and selection_score({"a"}, {"a"}) == 1


@given(NAMES, NAMES.filter(bool))
def test_selection_by_precision_and_recall(called, needed):
    hits = 0
    for one in called:
        hits += one in needed
    precision = hits / len(called) if called else 0.0
    recall = hits / len(needed)
    slow = 2 * precision * recall / (precision + recall) if hits else 0.0
    assert selection_score(called, needed) == pytest.approx(slow, abs=1e-6)


@pytest.fixture(scope="module")
def played():
    """A function: the row of two brief tasks of 2 chains of 2 under a script (task, turn) -> words or calls."""
    for package in ("bfcl_eval", "bm25s", "jsonschema"):
        pytest.importorskip(package)
    part = next(one for one in tps_bench().parts if one.name == "brief, hard")
    benchmark = Benchmark(name="x", parts=(part,), table=tps_table, max_turns=12, max_tokens=1024)
    tasks = part.world().tasks("test", 2, 0)

    def play(script):
        def words(text, turn):
            (task,) = [one for one in tasks if one.messages[0].content in text]
            return script(task, turn)

        def encode(format, words, tools=()):
            calls = (words,) if isinstance(words, ToolCall) else words
            message = Message("assistant", words) if isinstance(words, str) else Message("assistant", "", tuple(calls))
            return format.encode_turn(message, tools)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scripted_engine, "encode_reply", encode)
            engine = ScriptedEngine(Transcript(), words)
            found = play_benchmark(benchmark, engine=engine, format=Transcript(), tasks=2)
        table = tps_table(found)
        return [dict(zip(table.columns, row, strict=True)) for row in table.rows]

    return tasks, play


def search(step):
    return ToolCall("find_tools", {"query": step["query"]})


def call(step):
    return ToolCall("call_tool", {"name": step["name"], "arguments": step["arguments"]})


def mean(values):
    return sum(values) / len(values)


def test_a_sequential_and_a_parallel_policy_have_the_figures_of_the_plans(played):
    tasks, play = played

    def sequential(task, turn):
        steps = task.metadata["steps"]
        calls = [one for step in steps for one in (search(step), call(step))]
        return calls[turn] if turn < len(calls) else task.answer

    def parallel(task, turn):
        a, b, c, d = task.metadata["steps"]
        turns = [[search(one) for one in (a, b, c, d)], [call(a), call(c)], [call(b), call(d)], task.answer]
        return turns[turn]

    one, slow, fast = play(sequential)
    two, *plans = play(parallel)
    assert plans == [slow, fast] and (slow["scored"], slow["tokens"]) == (None, None)
    figures = ("done", "select", "turns", "time", "speedup")
    assert [one[name] for name in figures] == pytest.approx([slow[name] for name in figures], abs=1e-9)
    assert [two[name] for name in figures] == pytest.approx([fast[name] for name in figures], abs=1e-9)
    steps = [task.metadata["steps"] for task in tasks]
    assert one["time"] == mean([sequential_plan(some).elapsed for some in steps]) and one["speedup"] == 1
    assert two["time"] == mean([parallel_plan(some, [2, 2]).elapsed for some in steps]) < one["time"]
    assert (one["turns"], two["turns"]) == (8, 3) and one["tokens"] > 0


def test_a_call_before_its_argument_is_known_is_fast_and_not_done(played):
    tasks, play = played

    def hasty(task, turn):
        """All calls in the second turn; the result of the first step of a chain is a guess."""
        steps = task.metadata["steps"]
        guessed = [
            ToolCall("call_tool", {"name": one["name"], "arguments": dict.fromkeys(one["arguments"], 0)})
            for one in (steps[1], steps[3])
        ]
        return [[search(one) for one in steps], [call(steps[0]), call(steps[2]), *guessed], "none"][turn]

    row, _, fast = play(hasty)
    assert (row["done"], row["select"], row["turns"]) == (0.5, 1, 2)
    assert row["time"] < fast["time"]


def test_a_policy_without_calls_takes_no_time(played):
    row, slow, _ = played[1](lambda task, turn: "none")
    assert (row["done"], row["select"], row["turns"], row["time"], row["speedup"]) == (0, 0, 0, 0, None)
    assert slow["done"] == 1


def test_gauges_are_further_to_those_of_the_world(played):
    world = tps_world(3, 1, brief=True)
    assert {"found", "invalid_calls", "progress", "turns", "selected", "elapsed"} <= set(world.gauges)
    (task,) = world.tasks("test", 1, 0)
    assert task.messages[0].content.count(";") == 2 and len(world.need("reference")(task)) == 3
