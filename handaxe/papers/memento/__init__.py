"""Memento (arXiv:2508.16153): a frozen policy learns by a bank of cases and a learned retrieval."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from handaxe.evaluation.frozen_policy import started_policy
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import difference_figures
from handaxe.papers.memento.retrieval_figures import OTHER_K, retrieval_figures
from handaxe.papers.memento.softmax_draws import check_draws
from handaxe.tools.index.dense import embed
from handaxe.worlds.hops.coded_hops import coded_hops

__all__ = ["memento"]


def memento(
    *,
    seeds: int = 5,
    codes: int = 6,
    stream: int = 32,
    iterations: int = 3,
    tasks: int = 24,
    k: int = 4,
    temperature: float = 0.1,
) -> StudyFunction:
    """Compare retrievals of cases for a frozen policy in `coded_hops`, where a case shows what a code stands for.

    A stream of training questions is played several times with cases of similar questions; every attempt is written to
    the bank. Classifier and kernel learn from the cases that were shown. Then all retrievals read the same bank for
    held-out questions about other people.

    Figures:
        iteration/N             success of the stream, iteration N from 0, with retrieval by similarity
        iteration/gain          last iteration less the first, mean over seeds; /low and /high are the ends of its 95 %
                                interval, here and below
        RETRIEVAL               pass@1 on held-out questions; none, random, similarity, kernel, classifier (K largest Q)
                                and drawn (K draws from the softmax of the classifier's Q)
        RETRIEVAL/hit           share of the prompts with a successful case of the question's code
        gain/RETRIEVAL          pass@1 of the classifier less that of the retrieval
        gain_similarity/none    pass@1 of similarity less that without cases; likewise gain_kernel/none
        drawn/top               share of the drawn cases that are among the K largest Q
        classifier/kN           pass@1 of the classifier with N cases; gain_k/N is that of K less that of N

    Args:
        seeds: of tasks and rollouts, from the study's seed on.
        codes: number of codes.
        stream: training questions of a seed.
        iterations: over the stream.
        tasks: held-out questions of a seed.
        k: K, cases of a prompt; 4 in the paper.
        temperature: of the softmax of Q.

    Raises:
        InputError: a negative k, or a temperature that is not a number above 0.
    """
    check_draws(k, temperature=temperature)

    def measure(seed: int) -> dict[str, float]:
        taught = coded_hops(fresh=True, shown=4, absent=0.15, plain=0.2)
        policy = started_policy(taught, coded_hops(codes=codes, shown=0))
        runs = []
        for number in range(seed, seed + seeds):
            learned, held_out = policy.world.tasks("train", stream, number), policy.world.tasks("test", tasks, number)
            runs.append(
                retrieval_figures(
                    policy,
                    learned,
                    held_out,
                    embed=embed,
                    iterations=iterations,
                    k=k,
                    temperature=temperature,
                    seed=number,
                )
            )
        return _figures({key: np.array([run[key] for run in runs]) for key in runs[0]}, iterations)

    return measure


def _figures(found_S: Mapping[str, np.ndarray], iterations: int) -> dict[str, float]:
    """Means over seeds, and paired differences."""
    gains = {"iteration/gain": (f"iteration/{iterations - 1}", "iteration/0")}
    gains |= {f"gain/{name}": ("classifier", name) for name in ("none", "random", "similarity", "kernel", "drawn")}
    gains |= {f"gain_{name}/none": (name, "none") for name in ("similarity", "kernel")}
    gains |= {f"gain_k/{other}": ("classifier", f"classifier/k{other}") for other in OTHER_K}
    return {key: float(own.mean()) for key, own in found_S.items()} | difference_figures(found_S, gains)
