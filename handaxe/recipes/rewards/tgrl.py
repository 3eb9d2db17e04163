"""TGRL: one tool takes every answer, and training on some kinds of questions carries over to others."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.signed_answer import signed_answer
from handaxe.rewards.signed_format import signed_format
from handaxe.rewards.weighted import weighted
from handaxe.worlds.answering import given_answer
from handaxe.worlds.unseen_gym import unseen_gym

__all__ = ["tgrl"]

TITLE = "Can Tool-Integrated Reinforcement Learning Generalize Across Diverse Domains?"
BARE = "tgrl --tools"
BETTER = "It carries over better than training without the calculator."
NEW = ("seen", "no")
NOTE = "Unconfirmed: how the reward is split. The tiny policy saw basic_arithmetic before, lcm and calendars never."
GAIN = (
    "Unconfirmed: how the reward is split. The baseline has no calculator in tests either, so what each side gains "
    "over its own start is compared."
)
RECIPE = Recipe(
    paper=Paper(TITLE, "TGRL", "2510.11184", 5),
    claims=(
        Claim("Unseen kinds gain too.", "pass@1", "up", baseline="start", where=NEW, vice=0.6, note=NOTE),
        Claim(BETTER, "pass@1", "up", baseline=BARE, where=NEW, over="gain", vice=0.3, note=GAIN),
    ),
    base=grpo,
    world=unseen_gym,
    setting=Setting(model="start"),
)


def tgrl(base: Method) -> Method:
    """Train on the answer and on the format, each of them -1, 0 or 1. Its second version is `--base dr_grpo`.

    Differs: calls of the chat format in the place of XML tags.
    """
    answer = signed_answer(correct=base.reward, answer=given_answer)
    return replace(base, reward=weighted({"answer": (1.0, answer), "format": (1.0, signed_format())}))
