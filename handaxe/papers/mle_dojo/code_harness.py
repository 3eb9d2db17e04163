"""Program of the sandbox: imports scikit-learn once, and runs each program in a forked process.

It needs scikit-learn and the standard library. `code_runner` sends the text of this file to a sandboxed session and
calls `answer_program`. The parent never runs a program. A child cannot write a file, and the folder is emptied after
each run, so that a program finds nothing of an earlier one.

Kept: `code_runner` reads the file as text.
"""

import base64
import io
import json
import os
import random
import resource
import shutil
import sys
import warnings

import numpy
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["answer_program"]

TOOLS = (
    PCA, RandomForestClassifier, RandomForestRegressor, SimpleImputer, Nystroem, LogisticRegression, Ridge,
    KNeighborsClassifier, KNeighborsRegressor, MinMaxScaler, StandardScaler, SVC, SVR, DecisionTreeClassifier,
    DecisionTreeRegressor, make_pipeline,
)  # fmt: skip
LONGEST = 2**20
"""Bytes of a child's result."""
WALL_SECONDS = 60
MOST_PREDICTIONS = 100_000
MOST_TEXT = 200
TABLES: dict = {}
"""Key of a competition -> training X and y, and X of the test rows."""
sys.dont_write_bytecode = True


def answer_program(text, fork_child):
    """Answer a request, JSON in and out; {"missing": true} asks for the tables of the competition.

    Deletes the files of the current folder after a program: for a sandbox alone.

    Example:
        {"code": "submit([2.5])", "key": "a", "seconds": 2, "tables": [...]}  ->  {"error": "", "predictions": [2.5]}

    Idea: as `code_runner.CodeRunner`.
    """
    request = json.loads(text)
    if request["tables"]:
        TABLES[request["key"]] = [numpy.load(io.BytesIO(base64.b64decode(one))) for one in request["tables"]]
    if request["key"] not in TABLES:
        return json.dumps({"missing": True})
    line, end = fork_child(
        lambda: _run_program(request), seconds=request["seconds"], wall=WALL_SECONDS, longest=LONGEST
    )
    _empty_folder()
    slow = end in ("late", "timeout")
    error = "Timeout: the program took too long" if slow else "Crash: the process ended without a result"
    return json.dumps({"error": error, "predictions": None}) if end else line


def _empty_folder():
    for name in os.listdir("."):
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name, ignore_errors=True)
        else:
            os.unlink(name)


def _run_program(request):
    """Run the program; return the result as JSON."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    random.seed(0)
    numpy.random.seed(0)
    warnings.simplefilter("ignore")
    handed: list = []
    error = ""
    try:
        exec(compile(request["code"], "program", "exec"), _names(request["key"], handed))
    except BaseException as failure:
        error = f"{type(failure).__name__}: {failure}"[:MOST_TEXT]
    result = {"error": error, "predictions": None if error or not handed else _listed(handed[-1])}
    return json.dumps(result)


def _names(key, handed):
    """Names of a program: the tables, the classes of scikit-learn, `submit` and `enter`."""
    train_X, train_y, test_X = TABLES[key]

    def enter(*steps):
        handed.append(make_pipeline(*steps).fit(train_X, train_y).predict(test_X))

    tables = {"train_X": train_X, "train_y": train_y, "test_X": test_X, "numpy": numpy}
    return {**{one.__name__: one for one in TOOLS}, **tables, "submit": handed.append, "enter": enter}


def _listed(predictions):
    """Predictions as a list of numbers; None for anything else."""
    try:
        numbers = numpy.asarray(predictions, dtype=numpy.float64)
    except (TypeError, ValueError):
        return None
    return numbers.tolist() if numbers.ndim == 1 and numbers.size <= MOST_PREDICTIONS else None
