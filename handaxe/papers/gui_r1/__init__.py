"""GUI-R1: one action is right in type and in place or words, and well formed; a few hundred tasks suffice."""

from handaxe.curricula.few_tasks import few_tasks
from handaxe.methods.method import Method, replace
from handaxe.rewards.action_match import action_match
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.screen.layout import gold_box
from handaxe.worlds.screen.world import NEAR

__all__ = ["gui_r1"]


def gui_r1(base: Method, *, action: float = 0.8, format: float = 0.2, near: float = NEAR, tasks: int = 320) -> Method:
    """Train on the right action and on its form.

    Args:
        action: weight of the right action; 0.8 in released code.
        format: weight of calls that their tools take; 0.2 in released code.
        near: how far from the gold point is near enough; 140 pixels in released code, 7 of 100 here.
        tasks: how many tasks there are; 3000 in the paper.
    """
    right = action_match(gold=base.world.need("reference"), box=gold_box, near=near)
    formed = gate(on=outcome(lambda one: float(bool(one.calls))), then=well_formed(tools=base.world.need("tools")))
    reward = weighted({"action": (action, right), "format": (format, formed)})
    return replace(base, reward=reward, tasks=few_tasks(count=tasks))
