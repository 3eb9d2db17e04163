"""FTRL: every step of an attempt is a task of its own, rewarded by the F-measure of sub-questions its calls solve."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.solve_f1 import Measure, solve_f1
from handaxe.rollouts.linear import linear
from handaxe.selection.task_pool import task_pool
from handaxe.training.stages.prefixes import prefixes
from handaxe.worlds.toolchains import after, toolchains

__all__ = ["ftrl"]

TITLE = "Feedback-Driven Tool-Use Improvements in Large Language Models via Automated Build Environments"
RECALL = "ftrl --measure recall"
PRECISION = "ftrl --measure precision"
RECIPE = Recipe(
    paper=Paper(TITLE, "FTRL", "2508.08791", 16),
    claims=(
        Claim("More calls are right than by recall alone.", "call_precision", "up", baseline=RECALL, vice=0.8),
        Claim("More is solved than under precision alone.", "call_recall", "up", baseline=PRECISION, vice=0.9),
    ),
    world=toolchains,
    setting=Setting(model="start", max_turns=4, groups=16),
)


def ftrl(base: Method, *, measure: Measure = "f1", played: int = 256, longest: int = 20) -> Method:
    """Train on single messages, from the states that the policy comes to when it plays each task once.

    Args:
        measure: f1, or what it is compared with: precision, recall or product.
        played: tasks that are played for their states.
        longest: turns of these attempts; 20 in the paper.

    Differs: one round of states a run; advantages without the paper's KL and entropy terms unless the base has them.
    """
    stages = (*base.stages, prefixes(state=after, most=played, max_turns=longest))
    base = replace(base, tasks=lambda tasks, seed: task_pool(tasks, seed=seed), stages=stages)
    return replace(base, reward=solve_f1(measure=measure), rollout=linear(max_turns=1))
