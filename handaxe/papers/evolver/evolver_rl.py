"""EvolveR (arXiv:2510.16079), reinforcement learning: the policy searches principles that its rollouts leave behind."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.evolver.principle_learner import principle_learner
from handaxe.papers.evolver.principle_tool import memory_of
from handaxe.papers.evolver.search_format import search_format

__all__ = ["evolver_rl"]


def evolver_rl(base: Method, *, principles: bool = True, format_weight: float = 0.1, every: int = 10) -> Method:
    """Distil a principle of each rollout into the memory that the policy searches, and reward the form of searches.

    Args:
        principles: distil; without, the memory stays empty.
        format_weight: of the reward for the form; 0.1 in the paper.
        every: steps between two deletions of principles with low scores; 10 in the paper.
    """
    memory = memory_of(base.world)
    learner = principle_learner(store=memory.store, every=every, channel="correct", distils=principles)
    reward = rewards.weighted({"correct": (1.0, base.reward), "format": (format_weight, search_format())})
    return replace(base, reward=reward, learners=(*base.learners, learner))
