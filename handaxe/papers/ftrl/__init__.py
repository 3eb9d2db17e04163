"""FTRL: every step of an attempt is a task of its own, rewarded by the F-measure of sub-questions its calls solve."""

from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.ftrl.prefixes import prefixes
from handaxe.papers.ftrl.solve_f1 import Measure, solve_f1
from handaxe.papers.ftrl.toolchains import after
from handaxe.rollouts.linear import linear

__all__ = ["ftrl"]


def ftrl(base: Method, *, measure: Measure = "f1", played: int = 256, longest: int = 20) -> Method:
    """Train on single messages, from the states that the policy comes to when it plays each task once.

    Args:
        measure: f1, or what it is compared with: precision, recall or product.
        played: tasks that are played for their states.
        longest: turns of these attempts; 20 in the paper.
    """
    stages = (*base.stages, prefixes(state=after, most=played, max_turns=longest))
    base = replace(base, tasks=lambda tasks, seed: task_pool(tasks, seed=seed), stages=stages)
    return replace(base, reward=solve_f1(measure=measure), rollout=linear(max_turns=1))
