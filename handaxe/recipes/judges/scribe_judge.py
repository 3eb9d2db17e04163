"""SCRIBE's judge: a skill's short rubric against an open question, asked of SmolLM2; nothing is trained."""

from handaxe.engines.local import LocalEngine
from handaxe.evaluation.judge_spread import spreads
from handaxe.methods.study import Bound, Measured, Paper, Study
from handaxe.models.load import load
from handaxe.rewards.parts.lookup_skills import LOOKUP_SKILLS, lookup_or_answer
from handaxe.training.cold_start import demonstrations
from handaxe.worlds.hops import hops
from handaxe.worlds.world import Habit

__all__ = ["scribe_judge"]

TITLE = "SCRIBE: Structured Mid-Level Supervision for Tool-Using Language Models"
STUDY = Study(
    paper=Paper(TITLE, "SCRIBE's judge", "2601.03555", 215),
    bounds=(Bound("A rubric's score differs less over repeats than an open question's.", "difference", most=0.0),),
)


def scribe_judge(*, attempts: int = 6, clumsy: float = 0.3) -> Measured:
    """Compute how scores of steps would spread over repeats. Unconfirmed: both questions; the paper's were not seen.

    Args:
        attempts: conversations of an expert with one or two searches each.
        clumsy: share of its calls that are made badly.
    """
    world, policy = hops(lengths=(1, 2), brief=False), load("smollm2")
    engine, habit = LocalEngine(policy.model), Habit(clumsy=clumsy)

    def measure(seed: int) -> dict[str, float]:
        tasks = world.tasks("test", attempts, seed)
        played = demonstrations(world, world.env(world.tools), tasks, habit=habit, count=attempts, seed=seed)
        return spreads(played, engine=engine, format=policy.format, route=lookup_or_answer, skills=LOOKUP_SKILLS)

    return measure
