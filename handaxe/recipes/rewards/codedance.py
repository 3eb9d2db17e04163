"""CodeDance: calls pay where a task is hard and cost where it is easy, and each is credited with what it came to."""

from handaxe.credit.turn_bonus import turn_bonus
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.difficulty_bonus import difficulty_bonus
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome
from handaxe.rewards.product import product
from handaxe.rewards.reply_status import reply_status
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.sums import sums

__all__ = ["codedance"]

TITLE = "CodeDance: A Dynamic Tool-integrated MLLM for Executable Visual Reasoning"
RECIPE = Recipe(
    paper=Paper(TITLE, "CodeDance", "2512.17312", 4),
    claims=(
        Claim("Fewer calls where it is easy.", "calls", "down", same="pass@1", where=("difficulty", "easy"), vice=0.2),
        Claim("More of the calls are where it is hard.", "calls_on_hard", "up", same="pass@1", vice=0.85),
    ),
    world=sums,
    setting=Setting(model="start"),
)


def codedance(base: Method, *, gamma: float = 4.0, turn_weight: float = 0.2) -> Method:
    """Train on answer and format, on calls by difficulty, and on what each call came to. Differs: all is text.

    Args:
        gamma: how fast calls turn from paid to charged as accuracy grows; 4 in the released code.
        turn_weight: of the turns' own advantages; 0.2 in the released code.
    """
    worth = gate(on=base.reward, then=outcome(lambda one: 1.5), otherwise=outcome(lambda one: 0.5))
    calls = product({"worth": worth, "ran": tool_success()})
    answer = weighted({"right": (1.0, base.reward), "format": (0.2, well_formed())})
    whole = difficulty_bonus(base=answer, bonus=calls, correct=base.reward, gamma=gamma)
    reward = weighted({"whole": (1.0, whole), "steps": (0.0, reply_status())})
    return replace(base, reward=reward, shape=turn_bonus(channel="steps", weight=turn_weight))
