"""DeepEyes: looking is paid for where the answer is right, and what is trained on is what looking helps with."""

from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.deepeyes.helped import helped
from handaxe.rewards.by_task import by_task
from handaxe.rewards.gate import gate
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.rewards.within_length import within_length

__all__ = ["deepeyes"]


def deepeyes(base: Method, *, bonus: float = 1.2, always: float = 0.0, probed: int = 64) -> Method:
    """Train on what is sometimes right, most helped by looks first (a grid of text, not images; the probe has no crop).

    Args:
        bonus: for a right answer that looked; 1.2 in the paper.
        always: for a look, right or wrong.
        probed: tasks that are probed.
    """
    right, whole = within_length(reward=base.reward), within_length(reward=well_formed())
    gained = {"bonus": (bonus, gate(on=right, then=used_tools())), "always": (always, used_tools())}
    looks = weighted({"answer": (0.8, right), "format": (0.2, whole), **gained})
    kinds = {"yes": looks, "no": weighted({"answer": (1.2, right), "format": (0.4, whole)})}
    reward, stages = by_task(key="needs_tool", rewards=kinds), (*base.stages, helped(reward=base.reward))
    return replace(base, reward=reward, stages=stages, tasks=lambda all, seed: task_pool(all[:probed], shuffle=False))
