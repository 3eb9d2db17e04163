import json
from math import isnan, nan

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.claims import Claim, Control, decide
from handaxe.evaluation.figures import RunFigures
from handaxe.evaluation.replication import DecidedClaim, Replication, mean_curve


def runs(*rows):
    return [RunFigures([{"x": float(value)} for value in row], {}) for row in rows]


def replication(last=3.0, moved=0.1):
    ours, theirs = runs([1, 2], [2, 3], [2, last]), runs([1, 1], [1, 1], [1, 1.1])
    claim = Claim("x goes up", "training/x", "up", where=(), budget=())
    decided = DecidedClaim(claim, decide(claim, ours, theirs, control=Control(0.1)), "plain", Control(moved))
    curves = {"training/x": {"mine": mean_curve(ours, "training/x"), "plain": mean_curve(theirs, "training/x")}}
    return Replication("mine", "handaxe replicate mine", "0.1.0", (100, 101, 102), (decided,), {"steps": 2},
                       {"plain": {"steps": 2}}, curves, {"mine": 1.5, "plain": 2.0}, ("format",))  # fmt: skip


def test_from_json_inverts_to_json():
    assert Replication.from_json(replication().to_json()) == replication()
    older = json.loads(replication().to_json())
    del older["silent"]
    assert Replication.from_json(json.dumps(older)).silent == ()


def test_numbers_that_are_not_finite_are_null_in_json():
    text = replication(last=nan).to_json()
    assert json.loads(text)["claims"][0]["decision"]["paired"]["ours"][2] is None
    back = Replication.from_json(text).claims[0].decision
    assert isnan(back.paired.ours[2]) and back.verdict == "undecided"
    control = Replication.from_json(replication(moved=nan).to_json()).claims[0].control
    assert isnan(control.moved) and control.kept is None


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
    with pytest.raises(InputError, match="handaxe replicate|format 1"):
        Replication.from_json(text)
