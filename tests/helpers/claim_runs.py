"""Runs with given values of a training figure, for tests of claims."""

from handaxe.evaluation.claims import Claim
from handaxe.evaluation.figures import RunFigures


def run(values, *, other=None, tokens=10.0):
    """A run with these values of the training figure "x", and the others of "y"."""
    rows = [{"x": float(v), "tokens/sampled": tokens} for v in values]
    for row, value in zip(rows, [0.0] * len(rows) if other is None else other):
        row["y"] = float(value)
    return RunFigures(rows, {})


def ends(*values, other=None, tokens=10.0):
    """One run per value, which is the last one of "x"."""
    kept = [0.0] * len(values) if other is None else other
    return [run([0.0, v], other=[0.0, y], tokens=tokens) for v, y in zip(values, kept)]


def claim(direction="down", **more):
    """A claim about "x" with a margin of 0.5."""
    margin = {} if {"margin", "relative_margin"} & more.keys() else {"margin": 0.5}
    return Claim(text="x goes down", metric="training/x", direction=direction, **margin, **more)
