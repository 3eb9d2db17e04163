from dataclasses import replace

from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.methods.build import build
from handaxe.methods.run_spec import run_template


def test_held_out_evaluates_by_the_correctness_rule_with_a_breakdown():
    made = build(run_template("otc").read({"held_out": 3, "model": "tiny", "max_tokens": 8}))
    held_out = made["run"].evaluation.evaluate
    flat = held_out(made["engine"], 5)
    whole = Evaluation.from_json(flat["evaluation"])
    assert flat["steps"] == 5.0 and len(whole.tasks) == 3 and "difficulty" in whole.breakdown
    more = replace(held_out, samples=2, seed=1).evaluation(made["engine"])
    assert all(one.attempts == 2 for one in more.tasks)
    assert [one.id for one in more.tasks] == [one.id for one in whole.tasks]
