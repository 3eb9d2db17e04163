"""CALM's judge: was this sub-goal just reached? asked of SmolLM2 about acts in a grid; nothing is trained."""

from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.taught_verdict import in_its_place
from handaxe.judges.verdict_token import about_turn, verdict_token
from handaxe.methods.method import Measured
from handaxe.models.load import load
from handaxe.papers.calm.reached import reaches_of
from handaxe.papers.calm.transition_f1 import transition_f1
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.minigrid_text.world import minigrid_text

__all__ = ["calm_judge"]


def calm_judge(*, attempts: int = 8) -> Measured:
    """Compare the answers with the rule of the world, over every act and every sub-goal.

    Args:
        attempts: conversations of an expert, a quarter of whose acts is drawn.
    """
    world, policy = minigrid_text(size=6, brief=False), load("smollm2")
    judge = verdict_token(engine=LocalEngine(policy.model), format=policy.format)

    def measure(seed: int) -> dict[str, float]:
        tasks, env = world.tasks("test", attempts, seed), world.env(world.tools)
        played = demonstrations(world, env, tasks, count=attempts, seed=seed, format=policy.format, context=2048)
        pairs = reaches_of(played, criteria=world.need("criteria"), check=world.need("check"))
        return transition_f1(pairs, asks={"": in_its_place, "/alone": about_turn}, chances=judge.chances)

    return measure
