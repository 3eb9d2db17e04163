"""SCRIBE's judge: a skill's short rubric against an open question, asked of SmolLM2; nothing is trained."""

from handaxe.engines.local.engine import LocalEngine
from handaxe.methods.method import Measured
from handaxe.models.load import load
from handaxe.papers.scribe.judge_spread import spreads
from handaxe.papers.scribe.lookup_skills import LOOKUP_SKILLS, lookup_or_answer
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.hops.world import hops
from handaxe.worlds.world import DemonstrationNoise

__all__ = ["scribe_judge"]


def scribe_judge(*, attempts: int = 6, clumsy: float = 0.3) -> Measured:
    """Compute how scores of steps would spread over repeats.

    Args:
        attempts: conversations of an expert with one or two searches each.
        clumsy: share of its calls that are made badly.
    """
    world, policy = hops(lengths=(1, 2), brief=False), load("smollm2")
    engine, habit = LocalEngine(policy.model), DemonstrationNoise(clumsy=clumsy)

    def measure(seed: int) -> dict[str, float]:
        tasks = world.tasks("test", attempts, seed)
        played = demonstrations(world, world.env(world.tools), tasks, habit=habit, count=attempts, seed=seed)
        return spreads(played, engine=engine, format=policy.format, route=lookup_or_answer, skills=LOOKUP_SKILLS)

    return measure
