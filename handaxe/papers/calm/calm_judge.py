"""CALM (arXiv:2409.12798), zero-shot evaluation: ask SmolLM2 whether a transition reached a sub-goal."""

from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.trained_verdict import contextual_question
from handaxe.judges.verdict_token import turn_question, verdict_token
from handaxe.methods.method import StudyFunction
from handaxe.models.load import load
from handaxe.papers.calm.goal_transitions import goal_transitions
from handaxe.papers.calm.transition_f1 import transition_f1
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.minigrid_text.world import minigrid_text

__all__ = ["calm_judge"]


def calm_judge(*, attempts: int = 8) -> StudyFunction:
    """Compare a language model's verdicts with the world's rule, over every turn and sub-goal; nothing is trained.

    Args:
        attempts: conversations of an expert, a quarter of the acts random.
    """
    world, policy = minigrid_text(size=6, brief=False), load("smollm2")
    judge = verdict_token(engine=LocalEngine(policy.model), format=policy.format)

    def measure(seed: int) -> dict[str, float]:
        tasks, env = world.tasks("test", attempts, seed), world.env(world.tools)
        played = demonstrations(world, env, tasks, count=attempts, seed=seed, format=policy.format, context=2048)
        pairs = goal_transitions(played, criteria=world.need("criteria"), check=world.need("check"))
        return transition_f1(
            pairs, asks={"": contextual_question, "/alone": turn_question}, chances=judge.probabilities
        )

    return measure
