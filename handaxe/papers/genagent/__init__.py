"""GenAgent (arXiv:2601.18543): an image generator as a tool, with rewards for the image and for each reflection."""

from handaxe import rewards, rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.genagent.early_ends import early_ends
from handaxe.papers.genagent.reflection import reflection
from handaxe.rewards.outcome import outcome
from handaxe.worlds.canvas.canvas import drawings, final_fidelity, qualities

__all__ = ["genagent"]


def genagent(base: Method, *, pairwise: float = 0.5, resampled: int = 1) -> Method:
    """Reward the last image and each decision to refine or to end, and decide again where a rollout ended early.

    Args:
        pairwise: weight of the reward for reflections, next to 1 for the quality of the last image; a guess.
        resampled: forks of a rollout that ended before its last round, 0 for none.
    """
    turns = base.settings.max_turns
    again = early_ends(rounds=lambda one: len(drawings(one)), turns=turns, copies=resampled)
    parts = {"quality": (1.0, outcome(final_fidelity)), "reflection": (pairwise, reflection(qualities=qualities))}
    return replace(
        base,
        reward=rewards.weighted(parts),
        rollout=rollouts.forking(at=again, max_turns=turns),
    )
