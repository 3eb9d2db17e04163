"""Benches by name."""

import json

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.bench_scores import ANSWERS, PAIRS, STEPS
from handaxe.evaluation.judge_benches import find_bench
from handaxe.evaluation.rollout_scores import ROLLOUTS
from handaxe.evaluation.tie_scores import TIES
from handaxe.worlds.arithmetic import arithmetic


def test_benches_have_a_form_and_tasks(tmp_path):
    pytest.importorskip("sympy")
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"prompt": "a", "chosen": "b", "rejected": "c"}))
    steps, answers = find_bench("steps"), find_bench("answers", world=arithmetic())
    given = find_bench(f"jsonl:{file}", pairs=True)
    assert (steps.form, answers.form, given.form) == (STEPS, ANSWERS, PAIRS)
    assert [one.by_rule for one in (steps, answers, given)] == [True, True, False]
    assert [len(one.make(None, 2, 0)) for one in (steps, answers, given)] == [2, 2, 1]
    assert find_bench("answers", world=arithmetic(), pairs=True).form is PAIRS


def test_benches_of_calls_ties_and_rollouts():
    pytest.importorskip("bfcl_eval")
    calls, ties = find_bench("bfcl_pairs"), find_bench("ties")
    rollouts = find_bench("rollouts", rollouts=ties.make)
    assert (calls.form, ties.form, rollouts.form) == (ANSWERS, TIES, ROLLOUTS)
    assert [one.has_candidates for one in (calls, ties, rollouts)] == [True, False, True]
    assert [len(one.make(None, 2, 0)) for one in (calls, ties, rollouts)] == [2, 2, 2]
    pairs = find_bench("bfcl_pairs", pairs=True)
    assert pairs.form is PAIRS and not pairs.has_candidates and len(pairs.make(None, 1, 0)[0].questions) == 10


@pytest.mark.parametrize(
    "name, pairs, message",
    [
        ("ties", True, "asks about each answer alone: leave --pairs out"),
        ("rollouts", True, "asks about each rollout alone: leave --pairs out"),
        ("rollouts", False, "needs a policy that plays: name one, --model NAME"),
        ("stepz", False, "there is no bench 'stepz'; there are steps, answers, bfcl_pairs, ties, rollouts, jsonl:PATH"),
        ("steps", True, "leave --pairs out"),
        ("answers", False, "needs a world"),
        ("jsonl:none.jsonl", False, "there is no file 'none.jsonl'"),
    ],
)
def test_a_wrong_name_is_one_sentence(name, pairs, message):
    with pytest.raises(InputError, match=message):
        find_bench(name, pairs=pairs)
