"""Best position by step, errors and ratings of agents with and without validation and improvement."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.records import Task, Trajectory
from handaxe.methods.method import StudyFunction
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.stats import interval_figures
from handaxe.papers.mle_dojo.competitions import competitions, dojo_log
from handaxe.papers.mle_dojo.pipeline_agent import pipeline_agent
from handaxe.papers.mle_dojo.ratings import elo_ratings, profile_area
from handaxe.papers.mle_dojo.score_progress import turn_scores
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.table_data import METRICS
from handaxe.worlds.world import World

__all__ = ["dojo_agents"]

AGENTS = {
    "draws": (False, False),
    "draws_valid": (True, False),
    "improves": (False, True),
    "improves_valid": (True, True),
}
"""Agent -> whether it validates, and whether it improves on its best program."""


def dojo_agents(*, tasks: int = 20, steps: int = 15, fault_rate: float = 0.4, rows: int = 120) -> StudyFunction:
    """Play held-out competitions with scripted agents at equal numbers of steps.

    Figures:
        AGENT/best, AGENT/best_at_1, .../best_at_5          mean best position score after all steps, 1 step, 5 steps
        AGENT/errors, AGENT/executions                      share of failed executions; executions a task
        AGENT/elo, AGENT/area                               Elo rating and area under the performance profile
        saved_errors                                        errors of draws less those of draws_valid
        gain/WHAT, gain/WHAT/low, gain/WHAT/high            mean paired difference of best, with 95 % interval: steps
                                                            (all steps less 5, improves), improving (improves less
                                                            draws), validation (improves_valid less improves)

    Args:
        tasks: of the test split, the same for all agents.
        steps: of a rollout; 15 in the paper.
        fault_rate: share of drafts with a fault.
        rows: of a competition.

    Example:
        best positions of 0.5 and 0.7 on two tasks after 15 steps, 0.3 and 0.5 after 5  ->  gain/steps 0.2

    Paper: arXiv:2505.07782 (MLE-Dojo), position by step, errors and Elo ratings.
    Differs: scripted agents replace language models.
    """

    def measure(seed: int) -> dict[str, float]:
        world = competitions(rows=rows)
        asked = world.tasks("test", tasks, seed)
        played = {
            name: [_play(world, task, name, fault_rate, steps, seed + n) for n, task in enumerate(asked)]
            for name in AGENTS
        }
        curve_MTN = np.array([[_curve(one) for one in own] for own in played.values()])
        figures = dict[str, float]()
        for name, own, curve_TN in zip(played, played.values(), curve_MTN, strict=True):
            figures |= {f"{name}/{key}": value for key, value in _figures(own, curve_TN).items()}
        for key, value_M in (("elo", elo_ratings(curve_MTN[..., -1])), ("area", profile_area(curve_MTN[..., -1]))):
            figures |= {f"{name}/{key}": float(value) for name, value in zip(AGENTS, value_M, strict=True)}
        figures["saved_errors"] = figures["draws/errors"] - figures["draws_valid/errors"]
        return figures | _gains(dict(zip(AGENTS, curve_MTN, strict=True)))

    return measure


def _play(world: World, task: Task, name: str, fault_rate: float, steps: int, seed: int) -> Trajectory:
    validates, improves = AGENTS[name]
    regression = METRICS[task.metadata["set"]] == "rmse"
    agent = pipeline_agent(
        validates=validates, improves=improves, fault_rate=fault_rate, regression=regression, seed=seed
    )
    return demonstrate(world.env(()), task, agent, format=Compact(), id=f"{name}/{task.id}", max_turns=steps)


def _curve(one: Trajectory) -> np.ndarray:
    """Best position score after each turn [N]; 0 before the first submission."""
    return np.maximum.accumulate([score or 0.0 for score in turn_scores(one, "position")])


def _figures(played: Sequence[Trajectory], curve_TN: np.ndarray) -> dict[str, float]:
    rows = [row for one in played for row in dojo_log(one) if row["action"] == "execute"]
    best = {"best": curve_TN[:, -1], "best_at_1": curve_TN[:, 0], "best_at_5": curve_TN[:, 4]}
    return {key: float(value_T.mean()) for key, value_T in best.items()} | {
        "errors": sum(bool(row["error"]) for row in rows) / max(1, len(rows)),
        "executions": len(rows) / len(played),
    }


def _gains(curves: dict[str, np.ndarray]) -> dict[str, float]:
    improves_T = curves["improves"][:, -1]
    pairs = {
        "steps": improves_T - curves["improves"][:, 4],
        "improving": improves_T - curves["draws"][:, -1],
        "validation": curves["improves_valid"][:, -1] - improves_T,
    }
    figures = dict[str, float]()
    for name, difference_T in pairs.items():
        figures |= interval_figures(f"gain/{name}", difference_T)
    return figures
