import itertools

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.linear_model import Ridge

from handaxe.core.errors import InputError
from handaxe.papers.i_mcts.pipeline_scores import PipelineScores, choice_features, fit_estimate
from handaxe.worlds.parts.table_data import table_data
from handaxe.worlds.parts.table_pipelines import STAGES, TableChoice, build_pipeline


@pytest.fixture(scope="module")
def tables():
    return [PipelineScores(name, number=5, rows=48) for name in ("iris", "diabetes")]


def test_scores_equal_a_separate_fit(tables):
    own = table_data("diabetes", number=5, rows=48)
    choice = TableChoice("standard", model="neighbors")
    fitted = build_pipeline(choice, regression=True).fit(own.train_X, own.train_y)
    error = float(np.sqrt(np.mean((fitted.predict(own.private_X) - own.private_y) ** 2)))
    scores = tables[1].run(choice)
    assert scores.test == pytest.approx(1 / (1 + error), abs=1e-9) and 0 < scores.dev < 1
    assert tables[1].run(choice) is scores


def test_features_have_an_indicator_for_each_option_and_pair():
    rows = np.array([choice_features(TableChoice(*options)) for options in itertools.product(*STAGES.values())])
    assert rows.shape == (180, 98) and set(rows.sum(1)) == {10.0} and len(np.unique(rows, axis=0)) == 180


def test_the_estimate_equals_a_ridge_regression_of_scikit_learn(tables):
    estimate = fit_estimate(tables, samples=6, seed=1)
    seen = [PipelineScores(one.name, number=5, rows=48) for one in tables]
    fit_estimate(seen, samples=6, seed=1)
    rows = [(choice_features(choice), scores.dev) for one in seen for choice, scores in one.executed.items()]
    y = np.array([dev for _, dev in rows])
    centred = np.concatenate([part - part.mean() for part in (y[:6], y[6:])])
    model = Ridge(alpha=1.0, fit_intercept=False).fit(np.array([x for x, _ in rows]), centred)
    for options in (("raw", "all", "tree", "weak"), ("minmax", "kernel", "svm", "strong")):
        expected = y.mean() + float(model.predict([choice_features(TableChoice(*options))])[0])
        assert estimate(TableChoice(*options)) == pytest.approx(np.clip(expected, 0, 1), abs=1e-6)


def test_no_table_raises():
    with pytest.raises(InputError, match="fit to 1 table"):
        fit_estimate([], samples=3, seed=0)
