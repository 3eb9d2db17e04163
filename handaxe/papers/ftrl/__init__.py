"""FTRL (arXiv:2508.08791): train single steps from visited states, rewarded by the F1 of solved sub-questions."""

from handaxe import rewards, rollouts
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.ftrl.prefixes import prefixes
from handaxe.papers.ftrl.solve_f1 import Measure, several_calls, solve_f1
from handaxe.papers.ftrl.toolchains import remaining_metadata

__all__ = ["ftrl"]


def ftrl(base: Method, *, measure: Measure = "f1") -> Method:
    """Play 256 tasks once, make each visited state a task, and train its next message.

    Channel "several" has the share of messages with several calls of which one solves a result.

    Args:
        measure: reward of a message with calls: "f1" (the paper's), or "precision", "recall" or "product".
    """
    return replace(
        base,
        tasks=lambda tasks, seed: task_pool(tasks, seed=seed),
        stages=(*base.stages, prefixes(state=remaining_metadata, most=256, max_turns=20)),
        reward=rewards.weighted({"solved": (1.0, solve_f1(measure=measure)), "several": (0.0, several_calls())}),
        rollout=rollouts.linear(max_turns=1),
    )
