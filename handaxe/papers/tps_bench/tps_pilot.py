"""TPS-Bench (arXiv:2511.01527), the pilot: GRPO for schedules that are fast and complete."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tps_bench.schedule_reward import schedule_reward

__all__ = ["tps_pilot"]


def tps_pilot(base: Method, *, price: float = 0.25) -> Method:
    """Reward completed subtasks, minus a price of simulated time.

    Args:
        price: reward for the time of the sequential schedule; 0 for completion alone. Unconfirmed.
    """
    return replace(base, reward=schedule_reward(world=base.world, price=price))
