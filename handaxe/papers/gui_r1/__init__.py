"""GUI-R1 (arXiv:2504.10458): reward a GUI action for type, argument and format."""

from handaxe import rewards
from handaxe.curricula import few_tasks
from handaxe.methods.method import Method, replace
from handaxe.worlds.screen.widgets import cell_box
from handaxe.worlds.screen.world import NEAR

__all__ = ["gui_r1"]


def gui_r1(base: Method, *, action: float = 0.8, format: float = 0.2) -> Method:
    """Reward the correct action and the well-formed call, on 320 tasks.

    Args:
        action: weight of the correct action; 0.8 in the released code.
        format: weight of calls that the tools accept; 0.2 in the released code.
    """
    correct = rewards.action_match(gold=base.world.need("reference"), box=cell_box, radius=NEAR)
    called = rewards.outcome(lambda one: float(bool(one.calls)))
    formed = rewards.gate(on=called, then=rewards.well_formed(tools=base.world.need("tools")))
    reward = rewards.weighted({"action": (action, correct), "format": (format, formed)})
    return replace(base, reward=reward, tasks=few_tasks(count=320))
