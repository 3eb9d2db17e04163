"""Pipelines of scikit-learn from four choices: scaling, features, model and strength of regularization."""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["STAGES", "TableChoice", "build_pipeline", "fit_quietly", "pipeline_source", "zoo"]

HOMES: Mapping[str, str] = MappingProxyType(
    {
        "SimpleImputer": "impute",
        "StandardScaler": "preprocessing",
        "MinMaxScaler": "preprocessing",
        "PCA": "decomposition",
        "Nystroem": "kernel_approximation",
        "LogisticRegression": "linear_model",
        "Ridge": "linear_model",
        "KNeighborsClassifier": "neighbors",
        "KNeighborsRegressor": "neighbors",
        "DecisionTreeClassifier": "tree",
        "DecisionTreeRegressor": "tree",
        "RandomForestClassifier": "ensemble",
        "RandomForestRegressor": "ensemble",
        "SVC": "svm",
        "SVR": "svm",
    }
)
"""Class -> module of scikit-learn."""
Part = tuple[str, Mapping[str, Any]]
SCALES: Mapping[str, tuple[Part, ...]] = MappingProxyType(
    {"raw": (), "standard": (("StandardScaler", {}),), "minmax": (("MinMaxScaler", {}),)}
)
FEATURES: Mapping[str, tuple[Part, ...]] = MappingProxyType(
    {
        "all": (),
        "pca90": (("PCA", {"n_components": 0.9}),),
        "pca50": (("PCA", {"n_components": 0.5}),),
        "kernel": (("Nystroem", {"n_components": 20, "random_state": 0}),),
    }
)
MODELS: Mapping[str, tuple[str, str, str, tuple[float, float, float]]] = MappingProxyType(
    {
        "linear": ("LogisticRegression", "Ridge", "C", (100, 1, 0.01)),
        "neighbors": ("KNeighborsClassifier", "KNeighborsRegressor", "n_neighbors", (1, 5, 15)),
        "tree": ("DecisionTreeClassifier", "DecisionTreeRegressor", "max_depth", (12, 4, 2)),
        "forest": ("RandomForestClassifier", "RandomForestRegressor", "max_depth", (12, 4, 2)),
        "svm": ("SVC", "SVR", "C", (100, 1, 0.1)),
    }
)
"""Model -> classifier, regressor, parameter, and its values from weak to strong regularization."""
STRENGTHS = ("weak", "middle", "strong")
RIDGE = (0.01, 1, 100)
"""Ridge's alpha, from weak to strong."""
STAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"scale": tuple(SCALES), "features": tuple(FEATURES), "model": tuple(MODELS), "strength": STRENGTHS}
)
"""Stage -> options, in the order of a pipeline."""


class TableChoice(NamedTuple):
    """One option of each stage; the defaults are the first pipeline of a search."""

    scale: str = "raw"
    features: str = "all"
    model: str = "linear"
    strength: str = "middle"


def zoo() -> tuple[TableChoice, ...]:
    """List the entries of a leaderboard: 20 pipelines of middle strength and 10 others.

    Example:
        len(zoo()) is 30
    """
    middle = itertools.product(("raw", "standard"), ("all", "pca90"), MODELS, ("middle",))
    others = itertools.product(("standard",), ("all",), MODELS, ("weak", "strong"))
    return tuple(TableChoice(*one) for one in (*middle, *others))


def pipeline_source(choice: TableChoice, *, regression: bool) -> str:
    """Write the steps of a pipeline as arguments of a call.

    Example:
        TableChoice("standard", "all", "svm", "middle") -> "SimpleImputer(), StandardScaler(), SVC(C=1)"

    Raises:
        InputError: an unknown option.
    """
    parts = _parts(choice, regression)
    return ", ".join(f"{name}({', '.join(f'{key}={value}' for key, value in own.items())})" for name, own in parts)


def build_pipeline(choice: TableChoice, *, regression: bool) -> Any:
    """Build an unfitted pipeline of scikit-learn.

    Raises:
        InputError: an unknown option, or scikit-learn is missing (extra [ml]).
    """
    parts = _parts(choice, regression)
    try:
        from sklearn.pipeline import make_pipeline
    except ImportError as error:
        raise InputError('pipelines need scikit-learn: pip install "handaxe[ml]"') from error
    return make_pipeline(
        *(getattr(importlib.import_module(f"sklearn.{HOMES[name]}"), name)(**own) for name, own in parts)
    )


def fit_quietly(pipeline: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Fit a pipeline without warnings; linear models may stop at the limit of iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipeline.fit(X, y)


def _parts(choice: TableChoice, regression: bool) -> list[Part]:
    for stage, options in STAGES.items():
        if getattr(choice, stage) not in options:
            raise InputError(f"{stage} is one of {', '.join(options)}, not {getattr(choice, stage)!r}")
    classifier, regressor, parameter, values = MODELS[choice.model]
    rank = STRENGTHS.index(choice.strength)
    own: dict[str, Any] = {parameter: values[rank]}
    if choice.model == "linear" and regression:
        own = {"alpha": RIDGE[rank]}
    if choice.model == "forest":
        own |= {"n_estimators": 10}
    if choice.model in ("tree", "forest"):
        own |= {"random_state": 0}
    model = (regressor if regression else classifier, own)
    return [("SimpleImputer", {}), *SCALES[choice.scale], *FEATURES[choice.features], model]
