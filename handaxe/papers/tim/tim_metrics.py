"""Study: one policy with and without a calculator, by final accuracy and by measures of reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import PairJudge
from handaxe.core.records import Group, Sampling, Trajectory
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures
from handaxe.papers.tim.evidence_pairs import stated_share
from handaxe.papers.tim.explained_sums import OFFERED, explained_sums, stated_lines
from handaxe.papers.tim.reasoning_judge import hidden_answers, line_count
from handaxe.rollouts.linear import linear
from handaxe.rollouts.search.play_search import SearchPlayer
from handaxe.training.sft.cold_start import start_policy

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["reasoning_figures", "tim_metrics"]

TURNS = 5
ARMS = {"tools": "yes", "bare": "no"}


def tim_metrics(*, tasks: int = 40, seeds: int = 8, max_tokens: int = 48) -> StudyFunction:
    """Play held-out sums of `explained_sums` with and without the calculator, by the cold-start checkpoint.

    Figures, means over seeds, with /low and /high, the ends of a 95 % interval: those of `reasoning_figures`.

    Args:
        tasks: of a seed, each played once in both arms.
        seeds: of tasks and rollouts, from the study's seed on.
        max_tokens: of a turn.

    Example:
        accuracy 0.8 with the calculator and 0.7 without  ->  gain 0.1

    Paper: arXiv:2511.10899 (TIM), metric suite.
    Differs: sums and a policy of 0.85M parameters; a rule finds and checks steps.
    """

    def measure(seed: int) -> dict[str, float]:
        world = explained_sums()
        columns = dict[str, list[float]]()
        policy = start_policy(world)
        engine = local.LocalEngine(policy.model)
        play = SearchPlayer(world.env(world.tools), engine, policy.format, Sampling(max_tokens=max_tokens))
        judge = hidden_answers(judge=line_count())
        for own in range(seed, seed + seeds):
            given = world.tasks("test", tasks, own)
            arms = dict[str, list[Trajectory]]()
            for arm, offered in ARMS.items():
                variants = [(own, replace(task, tools=OFFERED[offered])) for task in given]
                arms[arm] = [one.group[0] for one in play(linear(max_turns=TURNS), variants, samples=1)]
            correct = {
                arm: [float(world.correct(Group(one.task, (one,))).outcome[0]) for one in found]
                for arm, found in arms.items()
            }
            for name, value in reasoning_figures(arms, correct, judge=judge).items():
                columns.setdefault(name, []).append(value)
        return column_figures(columns, {})

    return measure


def reasoning_figures(
    arms: dict[str, list[Trajectory]], correct: dict[str, list[float]], *, judge: PairJudge
) -> dict[str, float]:
    """Compare rollouts of the same N tasks with tools and without.

        accuracy/ARM        share of correct answers
        miss_rate/ARM       mean over rollouts of the share of the sum's lines that the texts lack
        step_accuracy/ARM   share of true lines among all stated lines
        gain, miss_gap      accuracy and miss rate with tools less those without
        win_rate            mean probability that the reasoning with tools is better, by the judge
        more_calls          miss rate of rollouts with two calls or more, less that of rollouts with fewer calls

    Args:
        arms: "tools" and "bare" -> N rollouts of the same tasks.
        correct: arm -> N numbers, 1 for a correct answer.
        judge: of pairs of reasoning.

    Returns:
        The figures; a mean of nothing is NaN.

    Example:
        gold lines a b c d, stated a d  ->  miss rate 0.5

    Paper: arXiv:2511.10899 (TIM), metric suite.
    Differs: lines of sums, found and checked by a rule; language models and a process reward model in the paper.
    """
    found = dict[str, float]()
    for arm, rollouts in arms.items():
        lines = [line for one in rollouts for line in stated_lines(one)]
        found[f"accuracy/{arm}"] = _mean(correct[arm])
        found[f"miss_rate/{arm}"] = _mean([1 - stated_share(one) for one in rollouts])
        found[f"step_accuracy/{arm}"] = _mean([float(a + b == c) for a, b, c in lines])
    missed = [(1 - stated_share(one), len(one.calls)) for one in arms["tools"]]
    many = _mean([rate for rate, calls in missed if calls > 1])
    few = _mean([rate for rate, calls in missed if calls < 2])
    pairs = list(zip(arms["tools"], arms["bare"], strict=True))
    return {
        **found,
        "gain": found["accuracy/tools"] - found["accuracy/bare"],
        "miss_gap": found["miss_rate/tools"] - found["miss_rate/bare"],
        "win_rate": float(np.mean(judge.compare(pairs))),
        "more_calls": many - few,
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
