"""Programs of the world `ml_engineering`: generation from a plan, instrumentation at landmarks, and execution."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator

__all__ = [
    "Halves",
    "LANDMARKS",
    "MODELS",
    "Plan",
    "RunResult",
    "SCALERS",
    "SETS",
    "SIZES",
    "data",
    "instrument",
    "run_program",
    "write_program",
]

LANDMARKS = ("imports", "data", "features", "model", "trained", "predicted", "submitted")
"""Stages of a program, in order."""
SCALERS: Mapping[str, str] = MappingProxyType(
    {"raw": "FunctionTransformer()", "std": "StandardScaler()", "log": "FunctionTransformer(numpy.log)"}
)
MODELS: Mapping[str, str] = MappingProxyType({"forest": "RandomForestClassifier", "extra": "ExtraTreesClassifier"})
SIZES = (1, 3, 10, 30, 100)
"""Numbers of trees; each tree takes equal time, and more trees are better."""
SETS = ("digits", "wine")
SAYS = "landmark: "
PROGRAM = """\
import numpy
from sklearn.ensemble import {classifier}
from sklearn.preprocessing import FunctionTransformer, StandardScaler

train_X, train_y, test_X = load()
scaler = {scaler}
train_X = scaler.fit_transform(train_X)
test_X = scaler.transform(test_X)
model = {classifier}(n_estimators={size}, random_state=0)
model.fit(train_X, train_y)
predicted = model.predict(test_X)
submit(predicted)
"""


class Plan(NamedTuple):
    """Choices of a program: a key of SCALERS, a key of MODELS, and a number of trees, 0 to the maximum of SIZES."""

    scaler: str
    model: str
    size: int


class Halves(NamedTuple):
    """Data set in two halves; a program receives all but `test_y`. X is [rows, features], y [rows]."""

    train_X: np.ndarray
    train_y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray


class RunResult(NamedTuple):
    """Result of a program: printed landmarks, the submission (None for none that fits), and the final error, "" for
    none.
    """

    landmarks: tuple[str, ...]
    submitted: np.ndarray | None
    error: str


def data(name: str, *, number: int, rows: int) -> Halves:
    """Draw rows of a data set of scikit-learn, half for training and half for test; `number` is the seed.

    Raises:
        InputError: an unknown data set, or scikit-learn is missing (extra [ml]).
    """
    all_X, all_y = _loaded(name)
    order = generator("ml_engineering", name, number).permutation(len(all_y))[:rows]
    half = len(order) // 2
    return Halves(all_X[order[:half]], all_y[order[:half]], all_X[order[half:]], all_y[order[half:]])


@functools.cache
def _loaded(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name not in SETS:
        raise InputError(f"there is no data set {name!r}; there are {', '.join(SETS)}")
    try:
        from sklearn import datasets
    except ImportError as error:
        raise InputError('the world ml_engineering needs scikit-learn: pip install "handaxe[ml]"') from error
    return (datasets.load_digits if name == "digits" else datasets.load_wine)(return_X_y=True)


def write_program(plan: Plan) -> str:
    """Write the program of a plan: a function of known choices, safe to run in this process.

    Raises:
        InputError: an unknown choice; the message names the known ones.
    """
    if plan.scaler not in SCALERS or plan.model not in MODELS or not 0 <= plan.size <= max(SIZES):
        raise InputError(
            f"a plan is one of {', '.join(SCALERS)}, one of {', '.join(MODELS)}, and 0 to {max(SIZES)} trees; "
            f"not {' '.join(map(str, plan))[:60]!r}"
        )
    return PROGRAM.format(scaler=SCALERS[plan.scaler], classifier=MODELS[plan.model], size=plan.size)


def instrument(program: str) -> ast.Module:
    """Insert a print after each landmark of a program.

    A landmark is the last top-level statement that imports, calls `load`, transforms, makes a classifier, fits,
    predicts or calls `submit`. The program's own prints are removed, so that it cannot report unreached landmarks.

    Example:
        "x = load()\nprint('landmark: trained')" becomes "x = load()\nprint('landmark: data')\nNone"
    """
    body = ast.parse(program).body
    last = {mark: number for number, statement in enumerate(body) for mark in _marks(statement)}
    quiet = _Quiet()
    marked: list[ast.stmt] = []
    for number, statement in enumerate(body):
        marked.append(quiet.visit(statement))
        for mark in LANDMARKS:
            if last.get(mark) == number:
                marked += ast.parse(f"print({SAYS + mark!r})").body
    return ast.fix_missing_locations(ast.Module(marked, []))


class _Quiet(ast.NodeTransformer):
    """Removes the program's own prints."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "print":
            return ast.copy_location(ast.Constant(None), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Constant(None), node) if node.id == "print" else node


def _marks(statement: ast.stmt) -> set[str]:
    """The landmarks of a statement."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {"imports"}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = {"load": "data", "submit": "submitted"}.get(node.func.id)
            found.add("model" if node.func.id.endswith("Classifier") else named)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            methods = {"fit_transform": "features", "transform": "features", "fit": "trained", "predict": "predicted"}
            found.add(methods.get(node.func.attr))
    return {mark for mark in found if mark is not None}


def run_program(program: ast.Module, data_set: Halves) -> RunResult:
    """Run an instrumented program to the end or the first error, with all permissions of the process."""
    said: list[str] = []
    handed: list[object] = []
    names: dict[str, object] = {
        "load": lambda: (data_set.train_X.copy(), data_set.train_y.copy(), data_set.test_X.copy()),
        "submit": handed.append,
        "print": said.append,
    }
    error = ""
    with np.errstate(all="ignore"):
        try:
            exec(compile(program, "program", "exec"), names)
        except Exception as failure:  # any error of the program
            error = f"{type(failure).__name__}: {failure}"
    landmarks = tuple(one.removeprefix(SAYS) for one in said)
    return RunResult(landmarks, _valid_submission(handed, len(data_set.test_y)), error)


def _valid_submission(handed: list[object], rows: int) -> np.ndarray | None:
    """The last submission with a label per row."""
    last = np.asarray(handed[-1]) if handed else np.zeros(0)
    return last if last.shape == (rows,) else None
