"""V-ToolRL: right answers, and the share of turns that can be read, after fine-tuning on how tools are used."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.average import average
from handaxe.rewards.reply_status import reply_status
from handaxe.rewards.weighted import weighted
from handaxe.worlds.glimpse import glimpse

__all__ = ["v_toolrl"]

TITLE = "OpenThinkIMG: Learning to Think with Images via Visual Tool Reinforcement Learning"
RECIPE = Recipe(
    paper=Paper(TITLE, "V-ToolRL", "2505.08617", 52),
    claims=(Claim("More is right than after fine-tuning alone.", "pass@1", "up", baseline="start", vice=0.8),),
    base=grpo,
    world=partial(glimpse, kind="table", terminated=True),
    setting=Setting(model="start", max_turns=5),
)


def v_toolrl(base: Method, *, format_weight: float = 1.0) -> Method:
    """Train on the answer that a tool takes, and on the mean over turns of whether each can be read.

    Differs: a table of text, whose cells are hidden until they are read, in the place of charts. A turn that cannot be
    read costs 1 where the paper pays 1 for any other, which is the same to advantages, but for a turn in plain words,
    which counts as read. That it calls less than after fine-tuning is not claimed here: this start leaves calls out
    that are needed, and makes none that are not.

    Args:
        format_weight: of the format; 1 in the released code.
    """
    readable = average(reply_status(values={}, malformed=-1.0))
    return replace(base, reward=weighted({"answer": (1.0, base.reward), "format": (format_weight, readable)}))
