"""Benchmarks played by scripted policies."""

from dataclasses import replace

import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import ToolCall
from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkPart, BenchmarkTable
from handaxe.evaluation.benchmarks.bfcl import bfcl
from handaxe.evaluation.benchmarks.metatool import metatool
from handaxe.evaluation.benchmarks.play import load_parts, play_benchmark
from handaxe.evaluation.benchmarks.tau2 import tau2
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.rewards.outcome import outcome
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.bfcl import package

SUMS = Benchmark(
    name="sums",
    parts=(BenchmarkPart("sums", arithmetic, 10),),
    table=lambda results: BenchmarkTable((), (), ()),
    max_turns=2,
)


def engine(words, context=1 << 20):
    made = ScriptedEngine(Transcript(), lambda text, turn: words)
    made.max_length = context
    return made


def play(benchmark, words, **settings):
    context = settings.pop("context", 1 << 20)
    return play_benchmark(benchmark, engine=engine(words, context), format=Transcript(), **settings)


def test_tasks_and_trials_are_counted():
    found = play(SUMS, "no number", tasks=3, trials=2)["sums"]
    assert len(found.tasks) == 3 < found.size
    assert all((one.attempts, one.scored, one.correct) == (2, 2, 0) for one in found.tasks)


def test_tasks_beyond_the_context_have_no_score():
    found = play(SUMS, "no number", tasks=3, trials=2, context=100)["sums"]
    assert found.context == 6 and all((one.attempts, one.scored) == (2, 0) for one in found.tasks)


def test_another_failure_of_every_rollout_is_an_error():
    def broken(one):
        raise RuntimeError("the rule is gone")

    world = replace(arithmetic(), correct=outcome(broken))
    with pytest.raises(VerifierError, match="the rule is gone"):
        play(Benchmark(name="x", parts=(BenchmarkPart("x", lambda: world, 10),), table=SUMS.table), "7", tasks=2)


def test_bfcl_scores_an_empty_turn_in_irrelevance_alone():
    pytest.importorskip("bfcl_eval")
    some = Benchmark(
        name="bfcl", parts=tuple(one for one in bfcl().parts if "relevance" in one.name), table=bfcl().table
    )
    found = play(some, "I cannot do this.", tasks=2)
    right = {name: sum(one.correct for one in part.tasks) for name, part in found.items()}
    assert right == {"irrelevance": 2, "live_irrelevance": 2, "live_relevance": 0}
    short = play(some, "I cannot do this.", tasks=2, context=64)
    assert {part.context for part in short.values()} == {2}
    assert sum(one.correct for part in short.values() for one in part.tasks) == 0


def test_metatool_reads_calls():
    pytest.importorskip("bfcl_eval")
    found = play(metatool(), ToolCall("nothing_like_it", {}), tasks=2)
    table = metatool().table(found)
    value = {row[0]: row[1] for row in table.rows}
    assert value["csr, reliability"] == value["csr, similar"] == 0
    assert value["call needed, recall"] == 1 and value["call needed, precision"] == pytest.approx(4 / 6)


@pytest.mark.slow
def test_tau2_is_played_in_every_domain():
    pytest.importorskip("tau2")
    found = play(tau2(), "I am sorry, I cannot help.", tasks=1, trials=2)
    assert {name: part.size for name, part in found.items()} == {"retail": 34, "airline": 12, "telecom": 40}
    table = tau2().table(found)
    assert [row[1:3] for row in table.rows] == [(1, 1)] * 3 + [(3, 3)]


def test_missing_package_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setattr(package.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install --no-deps bfcl-eval"):
        load_parts(bfcl())
