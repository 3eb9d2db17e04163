"""Accuracy and unified cost of agents at rising budgets of tool calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.protocols import Rollout
from handaxe.core.records import Group, Sampling, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.seeds import derive_seed
from handaxe.papers.bats.attempts_within import attempts_within
from handaxe.papers.bats.clue_guide import ClueGuide
from handaxe.papers.bats.clue_search import clue_search
from handaxe.papers.bats.clue_seeker import clue_seeker
from handaxe.papers.bats.unified_cost import TokenPrices, token_counts, unified_cost
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts import driver
from handaxe.testing.scripted_engine import ScriptedEngine

__all__ = ["AGENTS", "BudgetFigures", "compare_budgets"]

TOOL_PRICES = {"find": 0.001, "open": 0.002}
"""Dollars for a call."""
AGENTS = ("react", "tracker", "bats")


class BudgetFigures(NamedTuple):
    """Means over the tasks of a seed.

    correct, dollars          of the chosen answer; of the rollout
    calls, refused            executed calls; calls beyond a limit
    attempts                  of a rollout
    checked, pivoted          shares of verdicts CONTINUE and PIVOT; 0 without a verifier
    over                      calls beyond a limit that were executed, the most of all tasks
    """

    correct: float
    dollars: float
    calls: float
    refused: float
    attempts: float
    checked: float
    pivoted: float
    over: float


def compare_budgets(
    *, budgets: Sequence[int], seeds: Sequence[int], tasks: int, patience: int, size: int = 64
) -> dict[tuple[str, int], np.ndarray]:
    """Play every task by every agent with every budget.

        react      the policy alone; limits are enforced and not told
        tracker    the policy with the tracker
        bats       tracker, plan, verifier and further attempts

    Args:
        budgets: limits of each of both tools.
        seeds: S seeds of tasks, the same for all agents.
        tasks: of a seed.
        patience: see `clue_seeker`.
        size: of the knowledge base.

    Returns:
        (agent, budget) -> [S, 8], the fields of `BudgetFigures`.

    Example:
        compare_budgets(budgets=(4,), seeds=(0,), tasks=2, patience=4)["bats", 4][:, 0]

    Paper: arXiv:2511.17006 (BATS), accuracy against budget and cost.
    Differs: a scripted policy and generated questions.
    """
    found: dict[tuple[str, int], list[BudgetFigures]] = {(a, b): [] for a in AGENTS for b in budgets}
    format = Compact()
    for seed in seeds:
        asked = clue_search(count=tasks, seed=seed, size=size)
        schemas = [tool.schema for tool in asked.tools]
        engine = ScriptedEngine(format, clue_seeker(patience=patience), tools=schemas)
        env = tool_chat(asked.tools)
        for agent, budget in found:
            limits = dict.fromkeys(TOOL_PRICES, budget)
            attempts = [
                Attempt(task, env, format, Sampling(max_tokens=64), task.id, 0, derive_seed(seed, task.id), 1 << 16)
                for task in asked.tasks
            ]
            played = driver.run(attempts, _rollout(agent, limits), engine, workers=1, lockstep=True)
            found[agent, budget].append(_figures(played, limits))
    return {key: np.array(rows) for key, rows in found.items()}


def _rollout(agent: str, limits: Mapping[str, int]) -> Rollout:
    def guide(task: Task) -> ClueGuide:
        return ClueGuide(task)

    return attempts_within(limits=limits, tell=agent != "react", guide=guide if agent == "bats" else None)


def _figures(played: Sequence[Sequence[Trajectory]], limits: Mapping[str, int]) -> BudgetFigures:
    chosen = [next(one for one in found if one.notes["chosen"]) for found in played]
    correct = [float(exact_match()(Group(one.task, (one,))).outcome[0]) for one in chosen]
    used = [found[-1].notes["used"] for found in played]
    verdicts = [one.notes["verdict"] for found in played for one in found if "verdict" in one.notes]
    dollars = [
        unified_cost(token_counts(found), calls, token_prices=TokenPrices(), tool_prices=TOOL_PRICES)
        for found, calls in zip(played, used, strict=True)
    ]
    return BudgetFigures(
        float(np.mean(correct)),
        float(np.mean(dollars)),
        float(np.mean([sum(calls.values()) for calls in used])),
        float(np.mean([sum(found[-1].notes["refused"].values()) for found in played])),
        float(np.mean([len(found) for found in played])),
        verdicts.count("CONTINUE") / max(1, len(verdicts)),
        verdicts.count("PIVOT") / max(1, len(verdicts)),
        float(max(max(0, calls.get(tool, 0) - limit) for calls in used for tool, limit in limits.items())),
    )
