"""Benches by name."""

import json

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.bench_scores import ANSWERS, PAIRS, STEPS
from handaxe.evaluation.judge_benches import find_bench
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


@pytest.mark.parametrize(
    "name, pairs, message",
    [
        ("stepz", False, "there is no bench 'stepz'; there are steps, answers, jsonl:PATH"),
        ("steps", True, "leave --pairs out"),
        ("answers", False, "needs a world"),
        ("jsonl:none.jsonl", False, "there is no file 'none.jsonl'"),
    ],
)
def test_a_wrong_name_is_one_sentence(name, pairs, message):
    with pytest.raises(InputError, match=message):
        find_bench(name, pairs=pairs)
