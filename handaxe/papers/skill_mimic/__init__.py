"""SkillMimic-V2 (arXiv:2505.02094), adaptive sampling: play classes and tasks of low reward more often."""

from handaxe.methods.method import Method, replace
from handaxe.papers.skill_mimic.low_reward_more import low_reward_more
from handaxe.papers.skill_mimic.sampler_monitor import SamplerMonitor

__all__ = ["skill_mimic"]


def skill_mimic(base: Method, *, alpha: float = 0.5, pool: int = 256) -> Method:
    """Draw training tasks by a mixture of a uniform distribution and one that decreases with reward.

    The classes of tasks are those of the world's first breakdown; a world without one has a single class.

    Args:
        alpha: share of the adaptive part, 0 to 1; 0 draws uniformly.
        pool: number of training tasks.
    """
    monitor = SamplerMonitor()
    sampler = low_reward_more(key=next(iter(base.world.breakdown), None), alpha=alpha, pool=pool, monitor=monitor)
    return replace(base, tasks=sampler, learners=(*base.learners, monitor))
