"""SCRIBE (arXiv:2601.03555): compare a skill's short rubric with an open question, asked of SmolLM2.

Example:
    a rubric of two questions with P(yes) 0.5 and 0.9  ->  spread 0.29
    an open question with P(0) = P(9) = 0.5            ->  spread 0.5

Paper: arXiv:2601.03555 (SCRIBE), the variance of judgements with and without a skill's rubric.
"""

from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.engines.local.engine import LocalEngine
from handaxe.methods.method import StudyFunction
from handaxe.models.load import load
from handaxe.papers.scribe.judge_spread import spreads
from handaxe.papers.scribe.lookup_skills import LOOKUP_SKILLS, lookup_or_answer
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.hops.world import hops
from handaxe.worlds.world import DemonstrationNoise

__all__ = ["scribe_judge"]


def scribe_judge(*, attempts: int = 6, clumsy: float = 0.3) -> StudyFunction:
    """Compute the spread of step scores over repeated judgements.

    Args:
        attempts: expert conversations with one or two searches each.
        clumsy: share of corrupted calls.
    """
    world, policy = hops(lengths=(1, 2), brief=False), load("smollm2")
    desk = AskDesk(PolicyAnswerer(LocalEngine(policy.model), policy.format, name="smollm2"), min_coverage=0.0)
    noise = DemonstrationNoise(corrupt_rate=clumsy)

    def measure(seed: int) -> dict[str, float]:
        tasks = world.tasks("test", attempts, seed)
        played = demonstrations(world, world.env(world.tools), tasks, noise=noise, count=attempts, seed=seed)
        return spreads(played, desk=desk, route=lookup_or_answer, skills=LOOKUP_SKILLS)

    return measure
