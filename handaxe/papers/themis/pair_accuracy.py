"""Accuracy of a reward model with tools on preference pairs of `tool_pairs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.protocols import ChatFormat, EnvFactory, StatefulEngine
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.evaluation.preference_rows import answer_rollout
from handaxe.papers.themis.joint_losses import Reads
from handaxe.papers.themis.tool_judge import ToolJudge, tool_judge
from handaxe.papers.themis.tool_pairs import DOMAINS, PreferencePair, tool_pairs
from handaxe.tools.decorator import Tool
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import Split

__all__ = ["JudgedPairs", "PairRow", "accuracy_figures", "call_figures", "fit_on_pairs", "judge_pairs", "pair_rows"]


class PairRow(NamedTuple):
    """Pair, and the group of both answers, the right one first."""

    pair: PreferencePair
    group: Group

    @property
    def domain(self) -> str:
        """Domain of the problem, see `tool_pairs`."""
        return str(self.pair.task.metadata["domain"])


class JudgedPairs(NamedTuple):
    """Pairs in the right order [P], and conversations about both answers of each pair."""

    right: np.ndarray
    conversations: Sequence[Trajectory]


def pair_rows(split: Split, count: int, seed: int) -> list[PairRow]:
    """Make pairs of `tool_pairs` with a group of both answers."""
    made = tool_pairs(split=split, count=count, seed=seed)
    return [PairRow(one, Group(one.task, tuple(_rollouts(one)))) for one in made]


def _rollouts(one: PreferencePair) -> list[Trajectory]:
    return [answer_rollout(one.task, text, k) for k, text in enumerate((one.chosen, one.rejected))]


def fit_on_pairs(
    engine: StatefulEngine,
    format: ChatFormat,
    rows: Sequence[PairRow],
    *,
    tools: Sequence[Tool],
    epochs: int,
    learn_results: bool = True,
    reads: Reads = "last",
) -> ToolJudge:
    """Fit a reward model with reference calls on pairs.

    Args:
        engine: policy from which the reward model starts.
        format: of the policy.
        rows: for the fit.
        tools: of the judge; () for none.
        epochs: passes over the pairs.
        learn_results: see `tool_judge`.
        reads: see `tool_judge`.
    """
    judge = tool_judge(tools=tools, calls=reference_calls, epochs=epochs, learn_results=learn_results, reads=reads)
    judge.bind(engine, format)
    judge.fit([(one.group, Scores(np.array([1.0, 0.0]))) for one in rows])
    return judge


def judge_pairs(judge: ToolJudge, rows: Sequence[PairRow], *, env: EnvFactory | None = None) -> JudgedPairs:
    """Score both answers of each pair; a conversation without an end makes its pair wrong.

    Args:
        judge: the reward model.
        rows: to score.
        env: other tools with the same names; None for the judge's.

    Example:
        scores 2.0 and 1.0: right; 1.0 and 1.0: wrong

    Paper: arXiv:2310.01045 (Themis), pairwise accuracy.
    Differs: equal scores, and conversations without an end, count as wrong.
    """
    flat = tuple(one for row in rows for one in row.group)
    found = judge.conversations(Group(flat[0].task, flat), env=env)
    score_P2 = judge.score_conversations(found).reshape(-1, 2)
    ended_P2 = np.array([one.ending.kind == "completed" for one in found]).reshape(-1, 2)
    return JudgedPairs((score_P2[:, 0] > score_P2[:, 1]) & ended_P2.all(1), found)


def accuracy_figures(right: Mapping[str, np.ndarray], rows: Sequence[PairRow]) -> dict[str, float]:
    """Compute accuracy/ARM, the share of pairs in the right order, and accuracy/ARM/DOMAIN.

    Args:
        right: arm -> pairs in the right order [P].
        rows: the P pairs.

    Example:
        right on 3 of 4 pairs, of which 2 are calculations, one of them wrong  ->  0.75, calculator 0.5
    """
    domain_P = np.array([row.domain for row in rows])
    figures = {f"accuracy/{arm}": float(own_P.mean()) for arm, own_P in right.items()}
    for domain in DOMAINS:
        for arm, own_P in right.items():
            figures[f"accuracy/{arm}/{domain}"] = float(own_P[domain_P == domain].mean())
    return figures


def call_figures(found: JudgedPairs, rows: Sequence[PairRow]) -> dict[str, float]:
    """Compute calls, the mean number of a conversation, and reference, the share with exactly the reference calls."""
    wanted = [reference_calls(row.pair.task) for row in rows for _ in range(2)]
    made = [[(call.name, dict(call.arguments)) for call in one.calls] for one in found.conversations]
    same = [own == [(call.name, dict(call.arguments)) for call in gold] for own, gold in zip(made, wanted, strict=True)]
    return {"calls": float(np.mean([len(own) for own in made])), "reference": float(np.mean(same))}
