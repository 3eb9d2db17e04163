"""A copy of the policy that is taught answers: the policy stays, the copy learns, and its weights are kept."""

import numpy as np
import pytest

from handaxe.asking.ask import Ask
from handaxe.asking.prompt import find_prompt
from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.training.stages.context import make_site

STEP = find_prompt("step", terse=True)


def policy():
    return LocalEngine(TinyModel.new(TinyConfig(width=32, layers=1, heads=2, max_length=160), seed=1))


def ask(text, task="2*7=?"):
    return Ask(STEP, {"task": task, "before": "", "did": "", "then": text})


ASKS = [ask("ok!" if k % 2 else "bad") for k in range(2)]
LABELS = ["no", "yes"]


def taught(engine, epochs=40):
    judge = TaughtAnswerer(Compact(), name="trained", epochs=epochs, learning_rate=1e-2)
    judge.begin(engine)
    rows = judge.teach(make_site(engine=engine, format=Compact(), seed=0, progress=False), ASKS, LABELS)
    return judge, rows


def test_it_learns_the_labels_and_leaves_the_policy():
    engine = policy()
    judge, rows = taught(engine)
    assert engine.version == 0 and len(rows) == 40
    said = [one.label_logp for one in judge.answer(ASKS)]
    assert [one["yes"] > one["no"] for one in said] == [False, True]
    assert np.exp(max(said[0].values())) > 0.8


def test_its_weights_are_kept_and_change_the_fingerprint():
    engine = policy()
    judge, _ = taught(engine, epochs=3)
    fresh = TaughtAnswerer(Compact(), name="trained")
    fresh.begin(engine)
    before = fresh.fingerprint()
    fresh.load_state_dict(judge.state_dict())
    assert before != judge.fingerprint()
    assert [one.label_logp for one in fresh.answer(ASKS)] == [one.label_logp for one in judge.answer(ASKS)]


def test_questions_that_do_not_fit_teach_nothing():
    engine = policy()
    judge = TaughtAnswerer(Compact(), name="trained")
    judge.begin(engine)
    site = make_site(engine=engine, format=Compact(), seed=0, progress=False)
    with pytest.raises(InputError, match="none of 1 questions fits into the judge's context"):
        judge.teach(site, [ask("ok", task="t" * 400)], ["yes"])
