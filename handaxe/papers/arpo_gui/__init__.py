"""ARPO for GUI agents (arXiv:2505.16282): replay a stored success in groups without one."""

from handaxe import selection
from handaxe.methods.method import Method, replace

__all__ = ["arpo_gui"]


def arpo_gui(base: Method, *, capacity: int = 8, min_reward: float = 0.1) -> Method:
    """Replace one rollout of an all-failed group by an earlier success at the task.

    Args:
        capacity: successes stored for a task; 8 in the paper.
        min_reward: reward above which a rollout is a success; 0.1 in the paper.
    """
    replay = selection.success_replay(credit=base.credit, most=capacity, above=min_reward)
    return replace(base, select=selection.pipe(base.select, replay))
