"""EvolveR (arXiv:2510.16079): principles distilled from trajectories, merged, scored by use, pruned and retrieved."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from handaxe.evaluation.frozen_policy import FrozenPolicy, started_policy
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import difference_figures
from handaxe.papers.evolver.life_cycle import evolve, play_with_principles
from handaxe.papers.evolver.principle_store import PrincipleStore
from handaxe.tools.index.dense import embed
from handaxe.worlds.hops.coded_hops import coded_hops

__all__ = ["evolver"]

NEVER = 1.1
"""No cosine is as large: without merging."""


def evolver(
    *, seeds: int = 5, codes: int = 6, stream: int = 24, rounds: int = 3, tasks: int = 24, flips: float = 0.2
) -> StudyFunction:
    """Compare a life-cycle of principles with its parts left out, for a frozen policy in `coded_hops`.

    Figures:
        ARM                 pass@1 on held-out questions; none (no principle), evolver, unpruned (no deletion) and
                            unmerged (every principle joins the store)
        ARM/stored          principles after the last round
        ARM/score           mean score of the retrieved principles of the held-out questions
        ARM/correct         share of the stored guiding principles that state the code's chain
        round/N             success of the stream in round N from 0, of evolver
        round/gain          last round less the first, mean over seeds; /low and /high are the ends of its 95 %
                            interval, here and below
        gain/ARM            pass@1 of evolver less that of the arm
        gain_score/unpruned    score of evolver less that of unpruned

    Args:
        seeds: of tasks and rollouts, from the study's seed on.
        codes: number of codes.
        stream: training questions of a seed.
        rounds: over the stream.
        tasks: held-out questions of a seed.
        flips: share of misjudged trajectories.
    """

    def measure(seed: int) -> dict[str, float]:
        taught = coded_hops(fresh=True, shown=4, absent=0.15, plain=0.2)
        policy = started_policy(taught, coded_hops(codes=codes, shown=0))
        runs = [
            _one_seed(policy, number, stream=stream, rounds=rounds, tasks=tasks, flips=flips)
            for number in range(seed, seed + seeds)
        ]
        return _figures({key: np.array([run[key] for run in runs]) for key in runs[0]}, rounds)

    return measure


def _one_seed(
    policy: FrozenPolicy, seed: int, *, stream: int, rounds: int, tasks: int, flips: float
) -> dict[str, float]:
    learned, held_out = policy.world.tasks("train", stream, seed), policy.world.tasks("test", tasks, seed)
    meaning = {task.metadata["code"]: task.metadata["path"] for task in (*learned, *held_out)}
    stores = {
        "none": PrincipleStore(embed),
        "evolver": PrincipleStore(embed),
        "unpruned": PrincipleStore(embed, floor=0.0),
        "unmerged": PrincipleStore(embed, least=NEVER),
    }
    figures = dict[str, float]()
    for name, store in stores.items():
        success = evolve(policy, learned, store, rounds=0 if name == "none" else rounds, flips=flips, seed=seed)
        if name == "evolver":
            figures |= {f"round/{n}": share for n, share in enumerate(success)}
        found = play_with_principles(policy, held_out, store, seed=seed)
        figures[name] = float(np.mean([right for _, _, right in found]))
        figures[f"{name}/stored"] = float(len(store))
        if name != "none":
            figures[f"{name}/score"] = float(np.mean([one.score for _, used, _ in found for one in used]))
            figures[f"{name}/correct"] = _correct(store, meaning)
    return figures


def _correct(store: PrincipleStore, meaning: Mapping[str, list[str]]) -> float:
    """Share of guiding principles with the chain of their code; NaN without one."""
    guiding = [one.text.removeprefix("+ ").split(": ") for one in store.principles if one.text.startswith("+")]
    right = [path.split() == meaning[code] for code, path in guiding]
    return float(np.mean(right)) if right else np.nan


def _figures(found_S: Mapping[str, np.ndarray], rounds: int) -> dict[str, float]:
    """Means over seeds, and paired differences."""
    gains = {"round/gain": (f"round/{rounds - 1}", "round/0")}
    gains |= {f"gain/{name}": ("evolver", name) for name in ("none", "unpruned", "unmerged")}
    gains |= {"gain_score/unpruned": ("evolver/score", "unpruned/score")}
    return {key: float(np.nanmean(own)) for key, own in found_S.items()} | difference_figures(found_S, gains)
