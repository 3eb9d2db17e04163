"""Success of a frozen policy by retrieval: over a stream, and on held-out questions with the bank of the stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.records import Task
from handaxe.evaluation.frozen_policy import FrozenPolicy
from handaxe.ops.seeds import generator
from handaxe.ops.text_store import Embed
from handaxe.papers.memento.case_bank import Case, CaseBank
from handaxe.papers.memento.compare_retrievals import (
    Retrieve,
    asked,
    fit_classifier,
    kernel_retrieve,
    play_stream,
    play_with_cases,
    retrieve_drawn,
    retrieve_largest,
)

__all__ = ["OTHER_K", "held_out_figures", "retrieval_figures", "shared_cases"]

OTHER_K = (1, 2, 8)
"""Numbers of retrieved cases besides K, for the classifier."""


def retrieval_figures(
    policy: FrozenPolicy,
    learned: Sequence[Task],
    held_out: Sequence[Task],
    *,
    embed: Embed,
    iterations: int,
    k: int,
    temperature: float,
    seed: int,
) -> dict[str, float]:
    """Fill a bank by a stream, learn retrievals, and measure all of them on held-out questions.

    Args:
        policy: in `coded_hops`.
        learned: questions of the stream.
        held_out: other questions with the codes of the stream.
        embed: vectors of questions and cases.
        iterations: over the stream.
        k: K, cases of a prompt.
        temperature: of the softmax of Q, for the drawn cases.
        seed: of the draws.

    Returns:
        iteration/N, RETRIEVAL, RETRIEVAL/hit, drawn/top and classifier/kN, see `memento`.

    Example:
        iterations 2 -> iteration/0 and iteration/1; none/hit 0

    Paper: arXiv:2508.16153 (Memento), ablation of memories.
    Differs: every retrieval reads the bank of retrieval by similarity.
    """
    bank = CaseBank(embed)

    def similar(task: Task, k: int) -> list[int]:
        return bank.nearest(asked(task), k=k)

    def random(task: Task, k: int) -> list[int]:
        return generator("random cases", seed, asked(task)).permutation(len(bank))[:k].tolist()

    success, log = play_stream(policy, learned, bank, similar, k=k, iterations=iterations, seed=seed)
    figures = {f"iteration/{n}": share for n, share in enumerate(success)}
    values = fit_classifier(bank, log, embed, seed=seed)
    largest, drawn = retrieve_largest(values), retrieve_drawn(values, temperature=temperature, seed=seed)
    ways: dict[str, Retrieve] = {
        "none": lambda *_: [],
        "random": random,
        "similarity": similar,
        "kernel": kernel_retrieve(bank, log),
        "classifier": largest,
        "drawn": drawn,
    }
    for name, retrieve in ways.items():
        figures |= {
            f"{name}{key}": value for key, value in held_out_figures(policy, held_out, bank, retrieve, k, seed).items()
        }
    for other in OTHER_K:
        figures[f"classifier/k{other}"] = held_out_figures(policy, held_out, bank, largest, other, seed)[""]
    figures["drawn/top"] = shared_cases([(drawn(task, k), largest(task, k)) for task in held_out])
    return figures


def shared_cases(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> float:
    """Compute the mean share of the first list of cases that is in the second, over pairs of lists of cases.

    Example:
        (3, 5) of (5, 7), and (1, 2) of (2, 1)  ->  0.75

    Idea: draws that share every case with the K largest values explore nothing.
    """
    return float(np.mean([len(set(one) & set(other)) / len(one) for one, other in pairs]))


def held_out_figures(
    policy: FrozenPolicy, tasks: Sequence[Task], bank: CaseBank, retrieve: Retrieve, k: int, seed: int
) -> dict[str, float]:
    """Play held-out questions with retrieved cases of a bank that stays as it is.

    Returns:
        "", success; "/hit", share of the prompts with a successful case of the question's code.

    Example:
        a retrieval without cases -> "/hit" 0

    Idea: the hit rate separates retrieval from the use of the cases.
    """
    shown = [bank.take(retrieve(task, k)) for task in tasks]
    played = play_with_cases(policy, tasks, shown, seed=seed)
    hits = [any(_answers(case, task) for case in cases) for task, cases in zip(tasks, shown)]
    return {"": float(np.mean([one.reward for one in played])), "/hit": float(np.mean(hits))}


def _answers(case: Case, task: Task) -> bool:
    """Whether a case is a successful one of the task's code."""
    return case.reward > 0.5 and case.question.endswith(f" {task.metadata['code']}?")
