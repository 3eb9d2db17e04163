from math import log

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, Group
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.trained_verdict import contextual_question, trained_verdict
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.stages.context import make_site
from handaxe.training.stages.teach_second import teach_second


def engine(seed=1):
    return LocalEngine(TinyModel.new(TinyConfig(width=32, layers=1, heads=2, max_length=256), seed=seed))


CONTRACT = [{"engine": engine(), "format": Compact()}]
LAB = "equals the policy before training; see verdict_token"


class Fixed:
    """An engine with the probability of "yes" of the example."""

    version = 0

    def measure(self, requests):
        self.asked = getattr(self, "asked", 0) + len(requests)
        return [{"logp": [-0.5 if one.ids[-1] == ord("y") else -1.5]} for one in requests]

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def test_trained_verdict_matches_the_docstring_example_and_caches_answers():
    fixed = Fixed()
    judge = trained_verdict(engine=fixed, format=Compact())
    group = make_group(trajectories=[make_trajectory(texts=["a", "b"])])
    assert judge.score_steps(group)[0].tolist() == [pytest.approx(0.4621, abs=5e-5)] * 2
    asked = fixed.asked
    judge.score_steps(group)
    assert fixed.asked == asked
    fixed.version = 1
    judge.score_steps(group)
    assert fixed.asked == 2 * asked and log(0.7311 / 0.2689) == pytest.approx(1.0, abs=1e-3)


def test_the_question_starts_with_the_last_tool_result():
    one = make_trajectory(texts=["", "", "x"], calls=[["f"], ["f"], []], replies=[["4+7"], ["11"], []])
    first = [contextual_question(one, k, None).splitlines()[0] for k in range(3)]
    assert first == ['before: ""', 'before: "4+7"', 'before: "11"']


def test_an_untrained_judge_is_an_error():
    group = make_group(trajectories=[make_trajectory(texts=["a"])])
    with pytest.raises(InputError, match="no model yet"):
        trained_verdict().score_steps(group)
    with pytest.raises(InputError, match="no chat format"):
        trained_verdict(engine=engine()).score_steps(group)


def test_labels_train_the_judge_and_leave_the_policy(tmp_path):
    """The judge learns to separate two turns, also after a resume; the engine of the run is unchanged."""
    right, wrong = make_trajectory(texts=["good"], id="right"), make_trajectory(texts=["bad"], id="wrong")
    policy = engine()
    before = policy.start_digest()

    def run(judge, resume):
        groups = lambda site: []  # noqa: E731
        labels = lambda trajectories: [(right, 0, True), (wrong, 0, False)] * 16  # noqa: E731
        site = make_site(engine=policy, format=Compact(), seed=0, out=tmp_path / "stage", resume=resume)
        stage = teach_second(
            second=judge.second, source=judge.training_source(groups, labels), epochs=12, learning_rate=1e-2
        )
        return stage(site)

    judge = trained_verdict(ask=lambda one, turn, criterion: one.turns[turn].parsed.text)
    metrics = run(judge, False)
    group = Group(right.task, (right, wrong))
    good, bad = (own[0] for own in judge.score_steps(group))
    assert good > 0.5 and bad < -0.5 and len(metrics) == 12 and policy.start_digest() == before
    again = trained_verdict(ask=lambda one, turn, criterion: one.turns[turn].parsed.text)
    run(again, True)
    assert np.allclose(np.concatenate(again.score_steps(group)), [good, bad], atol=1e-6)


def test_labels_of_criteria_train_reached_by_turn():
    """Two criteria, each reached by one turn."""
    one, goals = make_trajectory(texts=["key", "door"]), [Criterion("key", "k"), Criterion("door", "d")]
    judge = trained_verdict(ask=lambda one, turn, criterion: 3 * "abcd"[2 * turn + goals.index(criterion)])
    labels = [(one, n, n == c, goals[c]) for n in range(2) for c in range(2)] * 8
    source = judge.training_source(lambda site: [], lambda trajectories: labels)
    stage = teach_second(second=judge.second, source=source, epochs=16, learning_rate=1e-2)
    stage(make_site(engine=engine(), format=Compact(), seed=0))
    assert judge.reached_by_turn(one, goals).tolist() == [[True, False], [False, True]]
    assert judge.reached_by_turn(one, []).shape == (0, 2)
