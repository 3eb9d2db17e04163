"""CALM (arXiv:2409.12798), zero-shot evaluation: ask SmolLM2 whether a transition reached a sub-goal.

Example:
    turn 2 takes up the key  ->  "This step has brought it about: It holds the key. yes or no?"; P(yes) 0.7 is a yes

Paper: arXiv:2409.12798 (CALM), the evaluation of transitions by language models.
"""

from functools import partial

from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.engines.local.engine import LocalEngine
from handaxe.methods.method import StudyFunction
from handaxe.models.load import load
from handaxe.papers.calm.goal_transitions import goal_transitions
from handaxe.papers.calm.reached_question import ALONE, reached_chances, reached_question
from handaxe.papers.calm.transition_f1 import Question, transition_f1
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.minigrid_text.world import minigrid_text

__all__ = ["calm_judge"]


def calm_judge(*, attempts: int = 8) -> StudyFunction:
    """Compare a language model's verdicts with the world's rule, over every turn and sub-goal; nothing is trained.

    Args:
        attempts: conversations of an expert, a quarter of the acts random.
    """
    world, policy = minigrid_text(size=6, brief=False), load("smollm2")
    desk = AskDesk(PolicyAnswerer(LocalEngine(policy.model), policy.format, name="smollm2"), min_coverage=0.0)
    questions: dict[str, Question] = {"": reached_question, "/alone": partial(reached_question, prompt=ALONE)}

    def measure(seed: int) -> dict[str, float]:
        tasks, env = world.tasks("test", attempts, seed), world.env(world.tools)
        played = demonstrations(world, env, tasks, count=attempts, seed=seed, format=policy.format, context=2048)
        pairs = goal_transitions(played, criteria=world.need("criteria"), check=world.need("check"))
        return transition_f1(pairs, asks=questions, chances=partial(reached_chances, desk))

    return measure
