"""Memento (arXiv:2508.16153): a frozen policy learns by a bank of cases and a learned retrieval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.core.records import Task
from handaxe.evaluation.frozen_policy import FrozenPolicy, started_policy
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import interval_figures
from handaxe.papers.memento.case_bank import Case, CaseBank
from handaxe.papers.memento.compare_retrievals import (
    Retrieve,
    asked,
    fit_classifier,
    kernel_retrieve,
    play_stream,
    play_with_cases,
)
from handaxe.tools.index.dense import embed
from handaxe.worlds.hops.coded_hops import coded_hops

__all__ = ["memento"]

OTHER_K = (1, 2, 8)
"""Numbers of retrieved cases besides K, for the classifier."""


def memento(
    *, seeds: int = 5, codes: int = 6, stream: int = 32, iterations: int = 3, tasks: int = 24, k: int = 4
) -> StudyFunction:
    """Compare retrievals of cases for a frozen policy in `coded_hops`, where a case shows what a code stands for.

    A stream of training questions is played several times with cases of similar questions; every attempt is written to
    the bank. Classifier and kernel learn from the cases that were shown. Then all retrievals read the same bank for
    held-out questions about other people.

    Figures:
        iteration/N             success of the stream, iteration N from 0, with retrieval by similarity
        iteration/gain          last iteration less the first, mean over seeds; /low and /high are the ends of its 95 %
                                interval, here and below
        RETRIEVAL               pass@1 on held-out questions; none, random, similarity, kernel and classifier
        RETRIEVAL/hit           share of the prompts with a successful case of the question's code
        gain/RETRIEVAL          pass@1 of the classifier less that of the retrieval
        gain_similarity/none    pass@1 of similarity less that without cases; likewise gain_kernel/none
        classifier/kN           pass@1 of the classifier with N cases; gain_k/N is that of K less that of N

    Args:
        seeds: of tasks and rollouts, from the study's seed on.
        codes: number of codes.
        stream: training questions of a seed.
        iterations: over the stream.
        tasks: held-out questions of a seed.
        k: K, cases of a prompt; 4 in the paper.
    """

    def measure(seed: int) -> dict[str, float]:
        taught = coded_hops(fresh=True, shown=4, absent=0.15, plain=0.2)
        policy = started_policy(taught, coded_hops(codes=codes, shown=0))
        runs = []
        for number in range(seed, seed + seeds):
            learned, held_out = policy.world.tasks("train", stream, number), policy.world.tasks("test", tasks, number)
            runs.append(_one_seed(policy, learned, held_out, iterations=iterations, k=k, seed=number))
        return _figures({key: np.array([run[key] for run in runs]) for key in runs[0]}, iterations)

    return measure


def _one_seed(
    policy: FrozenPolicy, learned: Sequence[Task], held_out: Sequence[Task], *, iterations: int, k: int, seed: int
) -> dict[str, float]:
    bank = CaseBank(embed)

    def similar(question: str, k: int) -> list[int]:
        return bank.nearest(question, k=k)

    def random(question: str, k: int) -> list[int]:
        return generator("random cases", seed, question).permutation(len(bank))[:k].tolist()

    success, log = play_stream(policy, learned, bank, similar, k=k, iterations=iterations, seed=seed)
    figures = {f"iteration/{n}": share for n, share in enumerate(success)}
    learned_retrieve = fit_classifier(bank, log, embed, seed=seed)
    ways: dict[str, Retrieve] = {
        "none": lambda *_: [],
        "random": random,
        "similarity": similar,
        "kernel": kernel_retrieve(bank, log),
        "classifier": learned_retrieve,
    }
    for name, retrieve in ways.items():
        figures |= {
            f"{name}{key}": value for key, value in _held_out(policy, held_out, bank, retrieve, k, seed).items()
        }
    for other in OTHER_K:
        figures[f"classifier/k{other}"] = _held_out(policy, held_out, bank, learned_retrieve, other, seed)[""]
    return figures


def _held_out(
    policy: FrozenPolicy, tasks: Sequence[Task], bank: CaseBank, retrieve: Retrieve, k: int, seed: int
) -> dict[str, float]:
    shown = [bank.take(retrieve(asked(task), k)) for task in tasks]
    played = play_with_cases(policy, tasks, shown, seed=seed)
    hits = [any(_answers(case, task) for case in cases) for task, cases in zip(tasks, shown)]
    return {"": float(np.mean([one.reward for one in played])), "/hit": float(np.mean(hits))}


def _answers(case: Case, task: Task) -> bool:
    """Whether a case is a successful one of the task's code."""
    return case.reward > 0.5 and case.question.endswith(f" {task.metadata['code']}?")


def _figures(found_S: Mapping[str, np.ndarray], iterations: int) -> dict[str, float]:
    """Means over seeds, and paired differences."""
    figures = {key: float(own.mean()) for key, own in found_S.items()}
    figures |= interval_figures("iteration/gain", found_S[f"iteration/{iterations - 1}"] - found_S["iteration/0"])
    for name in ("none", "random", "similarity", "kernel"):
        figures |= interval_figures(f"gain/{name}", found_S["classifier"] - found_S[name])
    for name in ("similarity", "kernel"):
        figures |= interval_figures(f"gain_{name}/none", found_S[name] - found_S["none"])
    for other in OTHER_K:
        figures |= interval_figures(f"gain_k/{other}", found_S["classifier"] - found_S[f"classifier/k{other}"])
    return figures
