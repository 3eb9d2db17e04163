"""Play questions with retrieved cases, write the cases of the attempts, and compare retrievals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.records import Task
from handaxe.evaluation.frozen_policy import FrozenPolicy
from handaxe.ops.seeds import generator
from handaxe.ops.text_store import Embed
from handaxe.papers.memento.case_bank import Case, CaseBank
from handaxe.papers.memento.case_classifier import CaseClassifier, Retrieval
from handaxe.papers.memento.kernel_values import kernel_values
from handaxe.papers.memento.softmax_draws import softmax_draws
from handaxe.worlds.hops.coded_hops import case_line, searched_path, with_cases

__all__ = [
    "CaseValues",
    "Retrieve",
    "Shown",
    "asked",
    "case_text",
    "fit_classifier",
    "kernel_retrieve",
    "play_stream",
    "play_with_cases",
    "retrieve_drawn",
    "retrieve_largest",
]

CaseValues = Callable[[str], np.ndarray]
"""question -> Q of each case of a bank [N]."""
Retrieve = Callable[[Task, int], list[int]]
"""(task, K) -> numbers of at most K cases of a bank, best first."""
SHARPNESS = 0.05
"""Scale of the kernel: cosines that differ by this much differ by the factor e."""


class Shown(NamedTuple):
    """Case that was shown with a question, and the success of the attempt."""

    question: str
    case: int
    success: float


def play_with_cases(
    policy: FrozenPolicy, tasks: Sequence[Task], shown: Sequence[Sequence[Case]], *, seed: int
) -> list[Case]:
    """Play each task with its cases in the prompt; returns the attempts as cases.

    The best case is the last line, next to the question.

    Args:
        policy: in `coded_hops`.
        tasks: without cases.
        shown: cases of each task, best first.
        seed: of the rollouts.
    """
    lines = [[case_line(*case) for case in reversed(cases)] for cases in shown]
    played = policy.play([with_cases(task, own) for task, own in zip(tasks, lines)], seed=seed)
    return [Case(asked(task), searched_path(one), reward) for task, (one, reward) in zip(tasks, played, strict=True)]


def asked(task: Task) -> str:
    """Return the question of a task without cases."""
    return task.messages[-1].content


def case_text(case: Case) -> str:
    """Write a case as a text for the classifier.

    Example:
        case_text(Case("2320 K?", ("boss",), 1.0)) == "[CASE] 2320 K? [PLAN] boss [REWARD] 1"
    """
    return f"[CASE] {case.question} [PLAN] {' '.join(case.plan)} [REWARD] {case.reward:.0f}"


def play_stream(
    policy: FrozenPolicy,
    tasks: Sequence[Task],
    bank: CaseBank,
    retrieve: Retrieve,
    *,
    k: int,
    iterations: int,
    seed: int,
) -> tuple[list[float], list[Shown]]:
    """Play a list of tasks several times; each attempt is written to the bank after its iteration.

    Args:
        policy: in `coded_hops`.
        tasks: the stream.
        bank: grows.
        retrieve: reads the bank.
        k: K, cases of a prompt.
        iterations: over the tasks.
        seed: of the draws.

    Returns:
        Success of each iteration, and all shown cases with the success of their attempts.

    Paper: arXiv:2508.16153 (Memento), continual learning with a frozen model over iterations.
    Differs: a plan is a chain of searches, and the policy both plans and executes.
    """
    success, log = list[float](), list[Shown]()
    for iteration in range(iterations):
        numbers = [retrieve(task, k) for task in tasks]
        played = play_with_cases(policy, tasks, [bank.take(own) for own in numbers], seed=seed * 1000 + iteration)
        for own, case in zip(numbers, played):
            log += [Shown(case.question, number, case.reward) for number in own]
        for case in played:
            bank.write(case)
        success.append(float(np.mean([case.reward for case in played])))
    return success, log


def fit_classifier(bank: CaseBank, log: Sequence[Shown], embed: Embed, *, seed: int) -> CaseValues:
    """Train the classifier on shown cases; returns its Q of each case.

    Raises:
        InputError: no case was shown.
    """
    texts = list(dict.fromkeys(one.question for one in log))
    places = {text: n for n, text in enumerate(texts)}
    case_BD = np.asarray(embed([case_text(case) for case in bank.cases]), np.float64)
    question_AD = np.array([bank.store.vector(text) for text in texts])
    net = CaseClassifier(case_BD.shape[1], seed=seed)
    net.fit(question_AD, case_BD, [Retrieval(places[one.question], one.case, one.success) for one in log])

    return lambda question: net.values(bank.store.vector(question), case_BD)


def retrieve_largest(values: CaseValues) -> Retrieve:
    """Make the retrieval of the K largest Q; among equal ones the newest first.

    Example:
        Q = (0.2, 0.9, 0.2), K = 2  ->  cases 1 and 2
    """
    return lambda task, k: _largest(values(asked(task)), k)


def retrieve_drawn(values: CaseValues, *, temperature: float, seed: int) -> Retrieve:
    """Make the retrieval that draws K cases from the softmax of Q, see `softmax_draws`.

    Args:
        values: Q of each case.
        temperature: of the softmax.
        seed: of the draws, which also depend on the id of the task and on the number of cases.
    """

    def retrieve(task: Task, k: int) -> list[int]:
        q_N = values(asked(task))
        return softmax_draws(q_N, k, temperature=temperature, rng=generator("drawn cases", seed, task.id, len(q_N)))

    return retrieve


def kernel_retrieve(bank: CaseBank, log: Sequence[Shown]) -> Retrieve:
    """Make the retrieval of the K largest Q_EC: a case is worth what it was worth for similar questions.

        k(s, s_i) = exp((cosine(s, s_i) - 1) / 0.05)

    Unconfirmed: the kernel, and the value 0 of a case that was never shown.
    """
    by_case: dict[int, list[Shown]] = {}
    for one in log:
        by_case.setdefault(one.case, []).append(one)
    vectors = {n: np.array([bank.store.vector(one.question) for one in own]) for n, own in by_case.items()}
    returns = {n: np.array([one.success for one in own]) for n, own in by_case.items()}

    def retrieve(task: Task, k: int) -> list[int]:
        q_N, query_D = np.zeros(len(bank)), bank.store.vector(asked(task))
        for number, state_ID in vectors.items():
            kernel_NI = np.exp((state_ID @ query_D - 1) / SHARPNESS)[None, :]
            q_N[number] = kernel_values(kernel_NI, returns[number])[0]
        return _largest(q_N, k)

    return retrieve


def _largest(q_N: np.ndarray, k: int) -> list[int]:
    """Numbers of the k largest values; among equal ones the newest first."""
    order = sorted(range(len(q_N)), key=lambda n: (-q_N[n], -n))
    return order[:k]
