"""IXC-2.5-Reward: one reward model of images as the reward of PPO, and as a filter of demonstrations."""

from handaxe import rewards
from handaxe.core.protocols import Reward
from handaxe.methods.method import Method, replace
from handaxe.papers.ixc_reward.above_quantile import above_quantile
from handaxe.papers.ixc_reward.balanced_model import balanced_model
from handaxe.papers.ixc_reward.noisy_drawings import noisy_drawings
from handaxe.papers.ixc_reward.running_scale import running_scale
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach

__all__ = ["ixc_reward"]


def ixc_reward(
    base: Method,
    *,
    labels: int = 960,
    ratio: float = 1.5,
    lessons: int = 128,
    wrong: float = 0.3,
    quantile: float = 0.25,
) -> Method:
    """Fine-tune on the demonstrations that a reward model scores highest, then train on its normalized score.

    Args:
        labels: requests with a pair each, from which the reward model learns.
        ratio: of the lengths of chosen and rejected side of a pair, at most.
        lessons: demonstrations.
        wrong: share of demonstrations in error.
        quantile: share of demonstrations with the lowest scores, which are dropped.
    """
    judge = balanced_model(world=base.world, labels=labels, most=ratio)
    tasks = base.world.tasks("train", lessons, base.settings.seed)
    source = scripted(
        trajectories=lambda site: noisy_drawings(
            base.world, tasks, format=site.format, wrong=wrong, seed=base.settings.seed
        )
    )
    teaching = teach(source=source, select=above_quantile(judge=judge, quantile=quantile), learning_rate=3e-4)
    parts: dict[str, tuple[float, Reward]] = {
        "scaled": (1.0, running_scale(reward=rewards.judged(judge=judge))),
        "correct": (0.0, base.reward),
    }
    return replace(base, reward=rewards.weighted(parts), stages=(*base.stages, teaching))
