"""LHF (arXiv:2505.15143): filter learning histories by improvement and stability before algorithm distillation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.lhf.compare_filters import compare_filters, data_figures, draw_split, filtered
from handaxe.papers.lhf.dark_room import DarkRoom

__all__ = ["lhf"]


def lhf(
    *, seeds: int = 4, steps: int = 400, stability: float = 1.0, noisy: float = 0.5, rooms: int = 16
) -> StudyFunction:
    """Distill Q-learning in Darkroom from histories with and without the filter; half of the pool is noisy.

    Figures:
        data/SET/FIGURE         of the histories of a set: noisy (share of noisy histories), late and mean return. The
                                sets have equal sizes: all, filtered, and improvement, filtered with lambda = 0
        return/ARM              mean return on held-out goals over the second half of the context's episodes
        return/ARM/first        of the first episode
        gain, gain/first        return of filtered less that of all, mean over seeds, with /low and /high of the 95 %
                                interval
        rise/ARM                return less that of the first episode

    Args:
        seeds: of goals, histories and training, from the study's seed on.
        steps: of training.
        stability: lambda of the score.
        noisy: share of noisy histories.
        rooms: played for each held-out goal.
    """

    def measure(seed: int) -> dict[str, float]:
        room = DarkRoom()
        data: dict[str, list[float]] = {}
        late: dict[str, list[float]] = {"all": [], "filtered": []}
        first: dict[str, list[float]] = {"all": [], "filtered": []}
        for own in range(seed, seed + seeds):
            split = draw_split(room, seed=own, noisy=noisy)
            sets = {
                "all": split.pool,
                "filtered": filtered(room, split.pool, stability=stability, seed=own),
                "improvement": filtered(room, split.pool, stability=0.0, seed=own),
            }
            for name, histories in sets.items():
                for key, value in data_figures(histories).items():
                    data.setdefault(f"data/{name}/{key}", []).append(value)
            found = compare_filters(room, split, steps=steps, seed=own, stability=stability, repeats=rooms)
            for name, return_E in found.items():
                late[name].append(float(return_E[len(return_E) // 2 :].mean()))
                first[name].append(float(return_E[0]))
        figures = {name: float(np.mean(values)) for name, values in data.items()}
        for name in late:
            figures |= {
                f"return/{name}": float(np.mean(late[name])),
                f"return/{name}/first": float(np.mean(first[name])),
            }
            figures[f"rise/{name}"] = figures[f"return/{name}"] - figures[f"return/{name}/first"]
        return figures | _gain("gain", late) | _gain("gain/first", first)

    return measure


def _gain(name: str, found: Mapping[str, list[float]]) -> dict[str, float]:
    return interval_figures(name, np.array(found["filtered"]) - np.array(found["all"]))
