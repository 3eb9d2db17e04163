import json
from math import isnan, nan

import pytest
from helpers.claim_runs import claim, ends

from handaxe.core.errors import InputError
from handaxe.evaluation.acts import ActFigure, Activation, ActivationStep, SeenAct, require_acts
from handaxe.evaluation.claim_figures import measure_claim
from handaxe.evaluation.decide import decide

STILL = Activation("grpo", (ActivationStep(1, 0.0, 0.0), ActivationStep(11, 0.0, 0.0)))


@pytest.fixture
def figures():
    return measure_claim(claim(), ends(*[1.0] * 8), ends(*[2.0] * 8))


@pytest.mark.parametrize(("figure", "least"), [("", 0.1), ("calls", 0.0), ("calls", nan), ("calls", -1.0)])
def test_act_that_every_run_reaches_is_an_error(figure, least):
    with pytest.raises(InputError, match="a least value above 0"):
        ActFigure(figure=figure, at_least=least)


def test_act_below_its_least_value_makes_a_claim_not_testable(figures):
    assert decide(claim(), figures).verdict == "holds"
    seen = SeenAct("training/loss/clip_fraction", 0.001, 0.0)
    found = decide(claim(), require_acts(figures, [SeenAct("calls", 1.0, 1.0), seen]))
    assert found.verdict == "not testable"
    assert found.why == "the mechanism did not act (training/loss/clip_fraction 0.000, at least 0.001)"
    assert SeenAct("calls", 1.0, nan).obstacle, "a figure without values shows nothing"


def test_acts_at_their_least_value_leave_the_figures_unchanged(figures):
    assert require_acts(figures, [SeenAct("calls", 1.0, 1.0)]) is figures


def test_method_equal_to_its_base_makes_a_claim_not_testable(figures):
    found = decide(claim(), require_acts(figures, [], STILL))
    assert found.verdict == "not testable"
    assert found.why == "the mechanism did not act (update and batch equal those of grpo at steps 1, 11)"


@pytest.mark.parametrize(
    ("step", "acts"),
    [
        (ActivationStep(20, 1e-3, 0.0), True),
        (ActivationStep(20, 0.0, 0.1), True),
        (ActivationStep(20, nan, 0.0, "no critic"), True),
        (ActivationStep(20, 1e-9, 0.0), False),
    ],
    ids=["angle", "batch", "unknown angle", "rounding"],
)
def test_one_step_with_a_difference_is_enough(figures, step, acts):
    found = STILL._replace(steps=(*STILL.steps, step))
    assert found.acts == acts and (found.obstacle == "") == acts


def test_part_beside_a_loop_without_training_acts():
    assert STILL._replace(beside=("learners",)).acts


def test_activation_from_json_inverts_to_json():
    found = STILL._replace(beside=("closing",), steps=(ActivationStep(2, 0.25, 0.5), *STILL.steps))
    assert Activation.from_json(json.loads(json.dumps(found.to_json()))) == found
    unknown = STILL._replace(steps=(ActivationStep(1, nan, 0.5, "no critic"),)).to_json()
    unknown["steps"][0]["update_angle"] = None
    (step,) = Activation.from_json(unknown).steps
    assert isnan(step.update_angle) and step.reason == "no critic"
