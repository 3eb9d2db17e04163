"""The programs of the world `ml_engineering`: written from a plan, marked at their landmarks, and run."""

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
    "Ran",
    "SCALERS",
    "SETS",
    "SIZES",
    "data",
    "instrument",
    "run_program",
    "write_program",
]

LANDMARKS = ("imports", "data", "features", "model", "trained", "predicted", "submitted")
"""Where a program can be, in order."""
SCALERS: Mapping[str, str] = MappingProxyType(
    {"raw": "FunctionTransformer()", "std": "StandardScaler()", "log": "FunctionTransformer(numpy.log)"}
)
MODELS: Mapping[str, str] = MappingProxyType({"forest": "RandomForestClassifier", "extra": "ExtraTreesClassifier"})
SIZES = (1, 3, 10, 30, 100)
"""Trees: each takes about as long as any other, and more are better."""
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
    """What a program is to do: a key of SCALERS, a key of MODELS, and how many trees, 0 to the most of SIZES."""

    scaler: str
    model: str
    size: int


class Halves(NamedTuple):
    """A data set in two halves; a program is given all but `test_y`. X is [rows, features], y [rows]."""

    train_X: np.ndarray
    train_y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray


class Ran(NamedTuple):
    """What came of a program: the landmarks that it said, what it submitted (None: nothing that fits), and the error
    that ended it, "" for none."""

    landmarks: tuple[str, ...]
    submitted: np.ndarray | None
    error: str


def data(name: str, *, number: int, rows: int) -> Halves:
    """So many rows of a data set that scikit-learn brings along, half to train and half to test; `number` draws them.

    Raises:
        InputError: no such data set, or scikit-learn is not there (extra [ml]).
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
    """The program of a plan. It is made of these choices alone, so that it can be run in this process.

    Raises:
        InputError: a choice that there is not; the message names those that there are.
    """
    if plan.scaler not in SCALERS or plan.model not in MODELS or not 0 <= plan.size <= max(SIZES):
        raise InputError(
            f"a plan is one of {', '.join(SCALERS)}, one of {', '.join(MODELS)}, and 0 to {max(SIZES)} trees; "
            f"not {' '.join(map(str, plan))[:60]!r}"
        )
    return PROGRAM.format(scaler=SCALERS[plan.scaler], classifier=MODELS[plan.model], size=plan.size)


def instrument(program: str) -> ast.Module:
    """Put a print behind each landmark of a program, which is the last of its top-level statements that imports, calls
    `load`, transforms, makes a classifier, fits, predicts or calls `submit`. The program's own prints are taken out, so
    that it cannot say what it has not reached.

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
    """Takes out what a program prints by itself."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "print":
            return ast.copy_location(ast.Constant(None), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Constant(None), node) if node.id == "print" else node


def _marks(statement: ast.stmt) -> set[str]:
    """The landmarks that a statement may be."""
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


def run_program(program: ast.Module, held: Halves) -> Ran:
    """Run an instrumented program to its end or its first error. Nothing keeps it from what this process may do."""
    said: list[str] = []
    handed: list[object] = []
    names: dict[str, object] = {
        "load": lambda: (held.train_X.copy(), held.train_y.copy(), held.test_X.copy()),
        "submit": handed.append,
        "print": said.append,
    }
    error = ""
    with np.errstate(all="ignore"):
        try:
            exec(compile(program, "program", "exec"), names)
        except Exception as failure:  # whatever the program does wrong
            error = f"{type(failure).__name__}: {failure}"
    landmarks = tuple(one.removeprefix(SAYS) for one in said)
    return Ran(landmarks, _fitting(handed, len(held.test_y)), error)


def _fitting(handed: list[object], rows: int) -> np.ndarray | None:
    """The last submission, where it is one label a row."""
    last = np.asarray(handed[-1]) if handed else np.zeros(0)
    return last if last.shape == (rows,) else None
