"""Small engines with a head, and labelled groups that differ in the last token."""

from dataclasses import replace

import numpy as np

from handaxe.core.heads import Head
from handaxe.core.records import Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.make_records import make_group, make_trajectory


def make_engine(*, seed=0, double=False, head=None, **options):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=seed)
    if double:
        model.module.double()
    return LocalEngine(model, heads={"reward": head or Head(init="normal")}, **options)


def labelled_group(seed):
    """Two rollouts that differ in the last token, and the better one has outcome 1."""
    rng, outcome = np.random.default_rng(seed), np.array([1.0, 0.0]) if seed % 2 else np.array([0.0, 1.0])
    made = []
    for i, value in enumerate(outcome):
        one = make_trajectory(layouts=["Utpp"], id=str(i), sample=i)
        ids = rng.integers(10, 60, len(one.sequences[0].ids))
        ids[one.turns[-1].stop - 1] = 70 if value else 71
        made.append(replace(one, sequences=(replace(one.sequences[0], ids=ids.astype(one.sequences[0].ids.dtype)),)))
    return make_group(trajectories=made), Scores(outcome)
