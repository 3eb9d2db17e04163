import json
from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.acts import Activation, ActivationStep, SeenAct
from handaxe.evaluation.claim_figures import Control, measure_claim
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.figures import RunFigures
from handaxe.evaluation.replication import DecidedClaim, Replication, mean_curve


def runs(*rows):
    return [RunFigures([{"x": float(value)} for value in row], {}) for row in rows]


def replication(last=3.0, moved=0.1):
    ours, theirs = runs([1, 2], [2, 3], [2, last]), runs([1, 1], [1, 1], [1, 1.1])
    claim = Claim("x goes up", "training/x", "up", where=(), budget=(), margin=0.1)
    figures = measure_claim(claim, ours, theirs)._replace(control=Control((moved,)))
    decided = DecidedClaim.of(claim, figures, "plain")
    curves = {"training/x": {"mine": mean_curve(ours, "training/x"), "plain": mean_curve(theirs, "training/x")}}
    return Replication("mine", "handaxe replicate mine", "0.1.0", (100, 101, 102), (decided,), {"steps": 2},
                       {"plain": {"steps": 2}}, curves, {"mine": 1.5, "plain": 2.0}, ("format",))  # fmt: skip


def test_from_json_inverts_to_json():
    assert Replication.from_json(replication().to_json()) == replication()
    older = json.loads(replication().to_json())
    del older["silent"]
    assert Replication.from_json(json.dumps(older)).silent == ()


def test_acts_and_activation_survive_json_and_older_results_have_none():
    steps = (ActivationStep(1, 0.5, 0.25), ActivationStep(20, 0.0, 1.0))
    found = replace(
        replication(), acts=(SeenAct("training/x", 0.1, 0.2),), activation=Activation("plain", steps, ("learners",))
    )
    assert Replication.from_json(found.to_json()) == found
    unknown = replace(found, activation=Activation("plain", (ActivationStep(1, nan, 0.25, "no critic"),)))
    assert isnan(Replication.from_json(unknown.to_json()).activation.steps[0].update_angle)
    body = json.loads(found.to_json())
    del body["acts"], body["activation"]
    old = Replication.from_json(json.dumps(body))
    assert old.acts == () and old.activation is None


def test_numbers_that_are_not_finite_are_null_in_json():
    text = replication(last=nan).to_json()
    assert json.loads(text)["claims"][0]["decision"]["paired"]["ours"][2] is None
    back = Replication.from_json(text).claims[0].decision
    assert isnan(back.paired.ours[2]) and back.verdict == "undecided"
    control = Replication.from_json(replication(moved=nan).to_json()).claims[0].figures.control
    assert isnan(control.moved[0]) and control.kept == ()


def test_the_setting_of_a_result_is_in_words():
    made = replication()
    assert made.setting == ""
    assert replace(made, arguments={"held_out": 400, "samples": 1}).setting == "400 held-out tasks, 1 sample"
    assert replace(made, arguments={"held_out": 40, "samples": 2}).setting == "40 held-out tasks, 2 samples"


def older(verdict, why, **claim):
    """A result of format 2: 8 pairs with the difference 1, and a control run."""
    paired = {"ours": [1.0] * 8, "theirs": [0.0] * 8, "difference": 1.0, "low": 1.0, "high": 1.0}
    body = json.loads(replication().to_json())
    fields = {"text": "x", "metric": "training/x", "direction": "up", "where": [], "budget": [], **claim}
    decision = {"verdict": verdict, "why": why, "paired": paired, "kept": None, "seeds": 0}
    one = {"claim": fields, "decision": decision, "baseline": "plain", "control": {"moved": 0.5, "kept": None}}
    return json.dumps({**body, "format": 2, "claims": [one]})


def test_results_of_format_2_are_decided_by_the_present_rule():
    (one,) = Replication.from_json(older("undecided", "the interval of x contains 0")).claims
    assert one.decision.verdict == "holds" and one.decision.look == 8 and one.claim.relative_margin == 0.1
    assert one.figures.control == Control((0.5,))
    (low,) = Replication.from_json(older("not testable here", "training/x of the baseline is 0")).claims
    assert low.decision.verdict == "not testable" and low.decision.why == "training/x of the baseline is 0"
    (never,) = Replication.from_json(older("undecided", "5 of 8 runs never reach 1", over="first", level=1.0)).claims
    assert never.decision.verdict == "undecided" and "never reach" in never.decision.why
    (moves,) = Replication.from_json(older("not testable here", "with permuted rewards x moves by +1 too")).claims
    assert moves.decision.verdict == "holds", "the control of 0.5 does not reach the interval"


def test_mean_curve_is_the_mean_over_runs():
    """at step 1: 1, 2, 3 have the mean 2 -+ 2.4841"""
    made = mean_curve(runs([1, 5], [2, 5], [3, 5]), "training/x")
    assert made.steps == (1, 2) and made.mean == (2, 5)
    assert (made.low[0], made.high[0]) == pytest.approx((-0.4841, 4.4841), abs=1e-4)
    assert (made.low[1], made.high[1]) == (5, 5)


def test_mean_curve_keeps_shared_steps():
    assert mean_curve(runs([1, 2, 3], [1, 2]), "training/x").steps == (1, 2)
    assert np.isinf(mean_curve(runs([1, 2]), "training/x").low).all()
    with pytest.raises(InputError, match="needs a run"):
        mean_curve([], "training/x")


@pytest.mark.parametrize("text", ["[]", "{}", "no", '{"format": 9}', '{"format": 1, "seeds": 3}'])
def test_other_text_is_an_error(text):
    with pytest.raises(InputError, match="handaxe replicate|format 9"):
        Replication.from_json(text)
