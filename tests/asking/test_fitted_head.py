"""A head on frozen states: separates what the states separate, keeps its weights, and refuses what it cannot fit."""

import math

import numpy as np
import pytest
import torch

from handaxe.asking.ask import Ask
from handaxe.asking.fitted_head import FittedHead, fit_head
from handaxe.asking.prompt import find_prompt
from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel

pytest.importorskip("sklearn")
STEP = find_prompt("step", terse=True)
ENGINE = LocalEngine(TinyModel.new(TinyConfig(width=32, layers=1, heads=2, max_length=160), seed=1))


def ask(text, then=""):
    return Ask(STEP, {"task": "2*7=?", "before": "", "did": text, "then": then})


def head():
    return FittedHead(ENGINE, Compact(), name="head:own", strength=1.0)


def labelled(count, seed):
    """Questions whose tool result ends in ! where the label is yes."""
    rng = np.random.default_rng(seed)
    words = [str(rng.integers(100)) for _ in range(count)]
    answers = ["yes" if rng.random() < 0.5 else "no" for _ in words]
    return [
        ask(word, "ok!" if answer == "yes" else "ok?") for word, answer in zip(words, answers, strict=True)
    ], answers


def test_it_learns_what_the_states_tell_and_answers_with_all_mass():
    judge = head()
    asks, answers = labelled(80, 0)
    others, truth = labelled(40, 1)
    found = judge.fit(asks, answers)
    assert found["examples"] == 80 and found["f1"] > 0.9 > found["constant_f1"]
    said = judge.answer(others)
    right = [
        (one.label_logp["yes"] > one.label_logp["no"]) == (label == "yes")
        for one, label in zip(said, truth, strict=True)
    ]
    assert np.mean(right) > 0.9
    assert all(np.exp(list(one.label_logp.values())).sum() == pytest.approx(1.0) for one in said)
    assert said[0].spent.read == len(Compact().start(STEP.render(others[0].fields), ()).ids)


@pytest.mark.slow
def test_an_answer_is_a_sigmoid_of_the_state_at_the_last_token():
    judge, (asks, answers) = head(), labelled(40, 0)
    judge.fit(asks, answers)
    ids = torch.tensor([Compact().start(STEP.render(asks[3].fields), ()).ids])
    with torch.inference_mode():
        state = ENGINE.model.hidden(ids, torch.ones_like(ids, dtype=torch.bool))[0, -1].double().numpy()
    (kept,) = judge.state_dict().values()
    logit = (
        sum(w * (h - m) / s for w, h, m, s in zip(kept["weight"], state, kept["mean"], kept["std"], strict=True))
        + kept["bias"]
    )
    assert judge.answer([asks[3]])[0].label_logp["yes"] == pytest.approx(-math.log1p(math.exp(-logit)), abs=1e-5)


@pytest.mark.slow
def test_order_and_company_of_questions_change_nothing():
    judge, (asks, answers) = head(), labelled(40, 0)
    judge.fit(asks, answers)
    alone = [judge.answer([one])[0].label_logp["yes"] for one in asks[:20]]
    together = [one.label_logp["yes"] for one in judge.answer(asks[:20][::-1])][::-1]
    np.testing.assert_allclose(alone, together, atol=1e-5)


@pytest.mark.slow
def test_the_threshold_of_the_best_f1_is_one_half():
    """States 0 to 99 and a tenth positive: without the shift, nothing reaches one half."""
    rng = np.random.default_rng(0)
    positive_Q = np.arange(400) % 10 == 0
    state_Q1 = (rng.normal(size=400) + 1.2 * positive_Q)[:, None]
    fitted, metrics = fit_head(state_Q1, positive_Q, strength=1.0)
    logit_Q = (state_Q1[:, 0] - fitted["mean"]) / fitted["std"] * fitted["weight"][0] + fitted["bias"]
    found = (logit_Q > 0).mean()
    assert 0.05 < found < 0.4 and metrics["f1"] > metrics["constant_f1"]


def test_weights_are_kept_and_change_the_fingerprint():
    judge, (asks, answers) = head(), labelled(40, 0)
    with pytest.raises(InputError, match="head:own is not fitted yet"):
        judge.answer(asks)
    judge.fit(asks, answers)
    other = head()
    other.load_state_dict(judge.state_dict())
    assert other.fingerprint() == judge.fingerprint()
    assert [one.label_logp for one in other.answer(asks[:3])] == [one.label_logp for one in judge.answer(asks[:3])]
    other.fit(*labelled(60, 2))
    assert other.fingerprint() != judge.fingerprint()


def test_what_cannot_be_fitted_is_one_sentence():
    asks, _ = labelled(6, 0)
    with pytest.raises(InputError, match="the 6 questions of step.terse@1 have the labels no, and a head needs two"):
        head().fit(asks, ["no"] * 6)
    with pytest.raises(InputError, match="nothing to fit a head on"):
        head().fit([], [])


@pytest.mark.slow
def test_a_question_that_does_not_fit_or_has_no_head_fails():
    judge, (asks, answers) = head(), labelled(40, 0)
    judge.fit(asks, answers)
    long = Ask(STEP, {"task": "t" * 400, "before": "", "did": "", "then": ""})
    strange = Ask(find_prompt("check", terse=True), {"task": "", "criterion": "", "before": "", "did": "", "then": ""})
    assert [one.failure for one in judge.answer([long, asks[0], strange])] == ["too_long", "", "refused"]
