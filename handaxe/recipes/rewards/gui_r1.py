"""GUI-R1: one action is right in type and in place or words, and well formed; a few hundred tasks suffice."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.action_match import action_match
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.selection.few_tasks import few_tasks
from handaxe.worlds.screen import NEAR, screen
from handaxe.worlds.screen_layout import gold_box

__all__ = ["gui_r1"]

TITLE = "GUI-R1: A Generalist R1-Style Vision-Language Action Model For GUI Agents"
NOTE = "The baseline learns from as many conversations, about 80 tasks more; here its labels are without fault."
RECIPE = Recipe(
    paper=Paper(TITLE, "GUI-R1", "2504.10458", 198),
    claims=(
        Claim("More actions are right than after SFT.", "pass@1", "up", baseline="taught", vice=0.9, note=NOTE),
        Claim("And than at the start.", "pass@1", "up", baseline="start", vice=0.6),
    ),
    base=partial(grpo, kl_coefficient=0.01),
    world=partial(screen, boxes=2),
    setting=Setting(model="start", max_turns=1),
)


def gui_r1(base: Method, *, action: float = 0.8, format: float = 0.2, near: float = NEAR, tasks: int = 320) -> Method:
    """Train on the right action and on its form.

    Differs: the screen is told in words, and the action is a call instead of a list in <answer>; no <think>.

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
