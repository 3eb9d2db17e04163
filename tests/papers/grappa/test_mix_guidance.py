import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.grappa.mix_guidance import mix_guidance

PI, SCORE = [0.6, 0.4], [math.log(0.1), math.log(0.9)]
WEIGHTS = st.lists(st.tuples(st.floats(0.01, 1), st.floats(-20, 20)), min_size=1, max_size=6)


def test_mix_guidance_matches_its_example():
    assert mix_guidance(PI, SCORE, alpha=0.5, form="linear") == pytest.approx([0.35, 0.65])
    assert mix_guidance(PI, SCORE, alpha=0.5) == pytest.approx([0.28990, 0.71010], abs=1e-5)


@given(WEIGHTS, st.floats(0, 1), st.sampled_from(["logits", "linear"]))
def test_mix_guidance_equals_a_slow_loop(rows, alpha, form):
    total = sum(weight for weight, _ in rows)
    pi, score = [weight / total for weight, _ in rows], [one for _, one in rows]
    if form == "logits":
        raw = [math.exp((1 - alpha) * math.log(p) + alpha * g) for p, g in zip(pi, score, strict=True)]
        slow = [one / sum(raw) for one in raw]
    else:
        raw = [math.exp(g) for g in score]
        slow = [(1 - alpha) * p + alpha * one / sum(raw) for p, one in zip(pi, raw, strict=True)]
    assert mix_guidance(pi, score, alpha=alpha, form=form) == pytest.approx(slow, rel=1e-9, abs=1e-12)


@pytest.mark.exact
@pytest.mark.parametrize("form", ["logits", "linear"])
def test_weight_0_is_the_base_policy_to_the_bit(form):
    pi = np.array([0.1, 0.2, 0.7])
    found = mix_guidance(pi, [5.0, -3.0, 1e5], alpha=0.0, form=form)
    assert found.tolist() == pi.tolist() and found is not pi


def test_weight_1_is_the_guidance_alone():
    for form in ("logits", "linear"):
        assert mix_guidance([1.0, 0.0], SCORE, alpha=1.0, form=form) == pytest.approx([0.1, 0.9])


def test_an_impossible_action_stays_impossible_in_the_logits_form():
    assert mix_guidance([1.0, 0.0], [0.0, 50.0], alpha=0.9).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "pi, score, options, message",
    [
        (PI, SCORE, {"alpha": 1.1}, "a weight from 0 to 1"),
        (PI, SCORE, {"alpha": 0.5, "form": "other"}, "the form logits or linear"),
        (PI, [0.0], {"alpha": 0.5}, "a finite score for each action"),
        (PI, [0.0, math.nan], {"alpha": 0.5}, "a finite score for each action"),
        ([], [], {"alpha": 0.5}, "a finite score for each action"),
        ([0.6, 0.6], SCORE, {"alpha": 0.5}, "probabilities with sum 1"),
        ([1.4, -0.4], SCORE, {"alpha": 0.5}, "probabilities with sum 1"),
    ],
)
def test_bad_input_is_one_sentence(pi, score, options, message):
    with pytest.raises(InputError, match=message):
        mix_guidance(pi, score, **options)
