"""Answerers of judges on a bench: frozen, fitted on training tasks, fine-tuned on training tasks."""

import pytest

from handaxe.asking.desk import AskDesk
from handaxe.asking.read import expected
from handaxe.core.errors import InputError
from handaxe.evaluation.bench_items import BenchItem
from handaxe.evaluation.bench_scores import ANSWERS
from handaxe.evaluation.judge_benches import JudgeBench, find_bench
from handaxe.methods.bench_answerer import bench_answerer
from handaxe.worlds.arithmetic import arithmetic

pytest.importorskip("sklearn")


@pytest.fixture
def bench():
    """A bench that notes which split was asked for."""
    made, splits = find_bench("answers", world=arithmetic(easy=0.0)), []

    def make(split, count, seed):
        splits.append((split, count))
        return made.make(split, count, seed)

    return made._replace(make=make), splits


def ask(answerer, bench):
    desk = AskDesk(answerer, min_coverage=0)
    asks = [one.ask(desk) for item in bench.make("test", 2, 0) for one in item.questions]
    return desk.ask(asks, expected(asks[0].prompt.weights))


@pytest.mark.parametrize(
    "source, model, taught",
    [("tiny", "", []), ("self", "tiny", []), ("head:tiny", "", [("train", 8)]), ("trained", "tiny", [("train", 8)])],
)
def test_only_judges_that_learn_see_training_tasks(bench, source, model, taught):
    made, splits = bench
    answerer = bench_answerer(source, made, model=model, labels=32, seed=0)
    assert splits == taught
    assert all(0 <= one <= 1 for one in ask(answerer, made))


@pytest.mark.slow
def test_a_fitted_head_differs_by_seed_and_repeats(bench):
    made, _ = bench
    prints = [bench_answerer("head:tiny", made, model="", labels=32, seed=seed).fingerprint() for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]


def test_a_bench_without_training_tasks_is_refused():
    empty = JudgeBench("jsonl:x", ANSWERS, lambda split, count, seed: list[BenchItem](), False)
    with pytest.raises(InputError, match="bench jsonl:x has no training task"):
        bench_answerer("head:tiny", empty, model="", labels=32, seed=0)
