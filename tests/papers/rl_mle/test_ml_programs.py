import ast

import numpy as np
import pytest

pytest.importorskip("sklearn")

from handaxe.core.errors import InputError
from handaxe.papers.rl_mle.ml_programs import (
    LANDMARKS,
    MODELS,
    SCALERS,
    SIZES,
    Plan,
    data,
    instrument,
    run_program,
    write_program,
)


@pytest.fixture(scope="module")
def digits():
    return data("digits", number=3, rows=60)


def test_data_is_halved_by_the_number(digits):
    assert len(digits.train_y) == len(digits.test_y) == 30 and digits.train_X.shape == digits.test_X.shape == (30, 64)
    again, other = data("digits", number=3, rows=60), data("digits", number=4, rows=60)
    assert (again.test_X == digits.test_X).all() and not (other.test_X == digits.test_X).all()
    rows = {row.tobytes() for row in np.concatenate([digits.train_X, digits.test_X])}
    assert len(rows) == 60
    with pytest.raises(InputError, match="no data set 'iris'; there are digits, wine"):
        data("iris", number=0, rows=60)


@pytest.mark.parametrize("scaler", SCALERS)
@pytest.mark.parametrize("model", MODELS)
def test_every_plan_with_a_defined_logarithm_runs(scaler, model):
    wine = data("wine", number=0, rows=100)
    ran = run_program(instrument(write_program(Plan(scaler, model, 3))), wine)
    assert ran.landmarks == LANDMARKS and ran.error == ""
    assert np.mean(ran.submitted == wine.test_y) > 0.6


def test_results_equal_a_handwritten_program(digits):
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(digits.train_X)
    model = ExtraTreesClassifier(n_estimators=10, random_state=0).fit(scaler.transform(digits.train_X), digits.train_y)
    wanted = model.predict(scaler.transform(digits.test_X))
    assert (run_program(instrument(write_program(Plan("std", "extra", 10))), digits).submitted == wanted).all()


@pytest.mark.parametrize(
    "plan, says", [(Plan("log", "forest", 3), "infinity"), (Plan("raw", "forest", 0), "n_estimators")]
)
def test_a_program_failing_in_training_reaches_the_model(digits, plan, says):
    ran = run_program(instrument(write_program(plan)), digits)
    assert ran.landmarks == LANDMARKS[:4] and ran.submitted is None and says in ran.error


def test_a_program_cannot_report_unreached_landmarks(digits):
    lines = ["x = load()", "print('landmark: trained')", "say = print", "for i in [1]: print('landmark: submitted')"]
    marked = instrument("\n".join(lines[:2]))
    assert ast.unparse(marked) == "x = load()\nprint('landmark: data')\nNone"
    assert run_program(marked, digits).landmarks == ("data",)
    assert run_program(instrument("\n".join([*lines, "say('landmark: trained')"])), digits).landmarks == ("data",)


def test_landmarks_follow_the_last_statement_of_their_kind(digits):
    ran = run_program(instrument("import math\nx = load()\nimport no_such_package_at_all"), digits)
    assert ran.landmarks == ("data",) and ran.error.startswith("ModuleNotFoundError")


@pytest.mark.parametrize("submit", ["submit([1, 2])", "submit('all')", "pass"])
def test_an_invalid_submission_is_none(digits, submit):
    assert run_program(instrument(submit), digits).submitted is None


def test_a_program_cannot_change_the_data(digits):
    before = digits.train_X.copy()
    run_program(instrument("x, y, t = load()\nx[:] = 0"), digits)
    assert (digits.train_X == before).all()


@pytest.mark.parametrize(
    "plan", [Plan("none", "forest", 1), Plan("raw", "tree", 1), Plan("raw", "forest", max(SIZES) + 1)]
)
def test_unknown_choices_raise(plan):
    with pytest.raises(InputError, match="one of raw, std, log, one of forest, extra, and 0 to 100 trees"):
        write_program(plan)
