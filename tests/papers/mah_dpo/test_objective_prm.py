import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.mah_dpo.objective_pairs import OBJECTIVES
from handaxe.papers.mah_dpo.objective_prm import explained_labels, objective_prm, step_labels
from handaxe.testing.make_records import make_group, make_trajectory

SMALL = TinyConfig(vocab_size=300, width=16, layers=1, heads=2, max_length=64)
LAYOUTS = ("Ut" + "p" * 6 + "T" + "p" * 30, "Utppp")
"""Turns of 6 and 30 tokens, and a turn of 3."""


def lessons(layouts=LAYOUTS):
    group = make_group(trajectories=[make_trajectory(layouts=[one], sample=i) for i, one in enumerate(layouts)])
    return [(group, Scores(np.array([1.0] * len(layouts))))]


def verdicts(one):
    return np.array([1.0, -1.0, 0.0])[: len(one.turns)]


class Fixed:
    """Judge with given scores of turns."""

    def __init__(self, scores):
        self.scores = scores

    def score_steps(self, group):
        return tuple(np.array(own, float) for own in self.scores)


def test_labels_by_hand():
    """6 and 30 tokens of 24: 1 - 6/24 and 0; 3 tokens: 1 - 3/24."""
    ((_, correct),) = step_labels(lessons(), "correct", verdicts=verdicts)
    ((_, brief),) = step_labels(lessons(), "brief", verdicts=verdicts)
    assert [own.tolist() for own in correct.turns] == [[1.0, 0.0], [1.0]]
    assert [own.tolist() for own in brief.turns] == [[0.75, 0.0], [0.875]]
    assert correct.outcome.tolist() == [1.0, 1.0]


def test_labels_equal_a_loop_over_tokens():
    limit = 40
    found = step_labels(lessons(), "brief", verdicts=verdicts, limit=limit)
    for (group, scores), (_, correct) in zip(found, step_labels(lessons(), "correct", verdicts=verdicts)):
        for one, brief_N, correct_N in zip(group, scores.turns, correct.turns, strict=True):
            for k, turn in enumerate(one.turns):
                left = limit
                for token in range(len(one.sequences[turn.sequence])):
                    left -= turn.start <= token < turn.stop
                assert brief_N[k] == pytest.approx(max(left, 0) / limit)
                assert correct_N[k] == {1.0: 1.0, 0.0: 0.5, -1.0: 0.0}[verdicts(one)[k]]


def test_turn_of_neither_verdict_is_labelled_one_half():
    ((_, found),) = step_labels(lessons(["Up Tp Tp"]), "correct", verdicts=verdicts)
    assert found.turns[0].tolist() == [1.0, 0.0, 0.5]


def test_explained_labels_by_hand():
    """Labels 1, 0 and scores 0.75, 0.25: 1 - 0.125 / 0.5; the mean label explains nothing."""
    given = step_labels(lessons(["Up Tp"]), "correct", verdicts=verdicts)
    assert explained_labels(Fixed([[0.75, 0.25]]), given) == pytest.approx(0.75)
    assert explained_labels(Fixed([[0.5, 0.5]]), given) == pytest.approx(0.0)
    assert explained_labels(Fixed([[0.0, 1.0]]), given) == pytest.approx(-3.0)
    assert np.isnan(explained_labels(Fixed([[0.5]]), step_labels(lessons(["Up"]), "correct", verdicts=verdicts)))


def test_explained_labels_equals_a_loop_over_turns():
    given = step_labels(lessons(), "brief", verdicts=verdicts)
    scores = [[0.6, 0.3], [0.5]]
    labels = [0.75, 0.0, 0.875]
    mean = sum(labels) / 3
    error = spread = 0.0
    for score, label in zip([0.6, 0.3, 0.5], labels):
        error += (score - label) ** 2
        spread += (label - mean) ** 2
    assert explained_labels(Fixed(scores), given) == pytest.approx(1 - error / spread)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_trained_model_explains_labels_and_leaves_the_policy_unchanged(objective):
    engine = LocalEngine(TinyModel.new(SMALL, seed=3))
    before = {name: one.clone() for name, one in engine.model.module.state_dict().items()}
    given = step_labels(lessons(), objective, verdicts=verdicts)
    model = objective_prm(engine, given * 160)
    assert explained_labels(model, given) > 0.3
    assert all(bool((before[name] == one).all()) for name, one in engine.model.module.state_dict().items())


def test_models_of_equal_labels_are_equal():
    """Nothing but the labels depends on the objective."""
    engine = LocalEngine(TinyModel.new(SMALL, seed=3))
    given = step_labels(lessons(), "brief", verdicts=verdicts)
    group = given[0][0]
    one, two = (objective_prm(engine, given).score_steps(group) for _ in range(2))
    other = objective_prm(engine, step_labels(lessons(), "correct", verdicts=verdicts)).score_steps(group)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one[0], other[0])


def test_bad_labels_are_refused():
    with pytest.raises(InputError, match="an objective of correct, brief and a limit of 1 token or more, not 'kind'"):
        step_labels(lessons(), "kind", verdicts=verdicts)
    with pytest.raises(InputError, match="not 'brief' and 0"):
        step_labels(lessons(), "brief", verdicts=verdicts, limit=0)
    with pytest.raises(InputError, match="no labelled rollout"):
        objective_prm(LocalEngine(TinyModel.new(SMALL)), [])
