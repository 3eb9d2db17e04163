"""CodeDance's second part alone: each calling turn is credited with what its call came to."""

from handaxe.credit.turn_bonus import turn_bonus
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.reply_status import reply_status
from handaxe.rewards.weighted import weighted
from handaxe.worlds.slips import slips

__all__ = ["codedance_turns"]

TITLE = "CodeDance: A Dynamic Tool-integrated MLLM for Executable Visual Reasoning"
SOONER = "First calls fail less often, sooner; as accurate in the end."
RECIPE = Recipe(
    paper=Paper(TITLE, "CodeDance, turns", "2512.17312", 4),
    claims=(Claim(SOONER, "first_call_failed", "down", same="pass@1", over="area", vice=0.1),),
    world=slips,
    setting=Setting(model="start", eval_every=4),
)


def codedance_turns(base: Method, *, weight: float = 0.2, gamma: float = 0.2) -> Method:
    """Train on the base's reward, and add to each turn what came of its calls, judged against all of the batch.

    Args:
        weight: of the turns' own advantages; 0.2 in the released code.
        gamma: discount by calling turn; 0.2 in the released code.
    """
    reward = weighted({"whole": (1.0, base.reward), "steps": (0.0, reply_status())})
    return replace(base, reward=reward, shape=turn_bonus(channel="steps", weight=weight, gamma=gamma))
