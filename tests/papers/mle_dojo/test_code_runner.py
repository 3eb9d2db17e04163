import numpy as np
import pytest

pytest.importorskip("sklearn")

from handaxe.papers.mle_dojo.code_runner import CodeResult, _checked, code_runner

TABLES = (np.array([[0.0, np.nan], [1.0, 1.0], [0.0, 0.5]]), np.array([0, 1, 0]), np.array([[1.0, 1.0], [0.0, 0.0]]))


@pytest.fixture(scope="module")
def run(sandbox):
    return lambda code: code_runner().run(code, "three rows", TABLES)


def test_programs_submit(run):
    assert run("enter(SimpleImputer(), StandardScaler(), KNeighborsClassifier(n_neighbors=1))").predictions == (1, 0)
    assert run("submit([2.5]); submit(test_X[:, 0])") == CodeResult("", (1.0, 0.0))
    assert run("x = train_y.sum()") == CodeResult("", None)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("enter(SVC())", "ValueError: Input X contains NaN."),
        ("enter(SimpleImputer(", "SyntaxError"),
        ("Imputer()", "NameError: name 'Imputer' is not defined"),
        ("while True: pass", "Timeout"),
        ("import os; os._exit(0)", "Crash"),
        ("import os; os.write(3, b'[]\\n'); os._exit(0)", "Crash"),
        ("import sys; sys.exit(0)", "SystemExit"),
        ("import socket; socket.socket()", "PermissionError"),
    ],
)
def test_failures_name_the_error(run, code, error):
    found = run(code)
    assert found.error.startswith(error) and found.predictions is None


def test_a_program_leaves_nothing_for_the_next(run):
    left = "import os\nSVC.left = 1\nos.mkdir('left')\nopen('file', 'w').close()\nsubmit([0])"
    assert run(left).predictions == (0.0,)
    assert run("import os\nsubmit([len(os.listdir('.')) + hasattr(SVC, 'left')])").predictions == (0.0,)


@pytest.mark.parametrize("value", ["'a'", "[[1]]", "['x']", "{}"])
def test_other_submissions_are_none(run, value):
    assert run(f"submit({value})").predictions is None


def test_answers_of_another_form_are_errors():
    crash = CodeResult("Crash: the process ended without a result", None)
    assert _checked({}) == crash and _checked({"error": 3, "predictions": [1]}) == crash
    assert _checked({"error": "", "predictions": "no"}) == CodeResult("", None)
    assert _checked({"error": "", "predictions": [1, "x"]}) == CodeResult("", None)
