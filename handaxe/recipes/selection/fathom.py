"""Fathom: solved tasks leave, failed ones get their latest success, what is left is scaled up, and repeats cost."""

from handaxe.credit.useful_share import useful_share
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.revisiting import revisiting
from handaxe.rewards.redundant_calls import redundant_calls
from handaxe.selection.pipe import pipe
from handaxe.selection.prune_solved import prune_solved
from handaxe.selection.success_replay import success_replay
from handaxe.worlds.hops import hops

__all__ = ["fathom"]

TITLE = "Fathom-DeepResearch: Unlocking Long Horizon Information Retrieval and Synthesis for SLMs"
IDLE = "training/groups/zero_advantage"
SAME = "Fewer groups teach nothing, at the same accuracy."
WASTE = "A smaller share of its calls is redundant, at the same accuracy."
RECIPE = Recipe(
    paper=Paper(TITLE, "Fathom", "2509.24107", 29),
    claims=(
        Claim(SAME, IDLE, "down", over="area", same="pass@1", within=0.02, vice=3.0),
        Claim(WASTE, "repeated_calls", "down", same="pass@1", within=0.02, vice=0.08),
    ),
    base=revisiting,
    world=partial(hops, lengths=(2, 3), results=1, repeats=0.8, notes=True),
    setting=Setting(model="start", steps=25, group_size=4, max_turns=6, max_tokens=56),
)


def fathom(
    base: Method, *, rate: float = 0.9, penalty: float = 1.0, floor: float = 0.5, novelty: float = 0.5
) -> Method:
    """Train as RAPO does, on the reward of steps that are not redundant.

    Unconfirmed: the form of the scale, the reward's formula and its constants. Differs: exact repeats are told by rule,
    where the paper asks a language model; both of its stages are one.

    Args:
        rate: the share of right attempts from which on a task is left out; 0.9 in the paper.
        penalty: what a redundant share of 1 takes from a right attempt.
        floor: least that a right attempt earns.
        novelty: most that a wrong attempt earns, for calls that are not redundant.
    """
    reward = redundant_calls(base=base.reward, penalty=penalty, floor=floor, novelty=novelty)
    latest = success_replay(credit=base.credit, most=1, place="random", channel="base")
    tasks = prune_solved(rate=rate, around=base.tasks, channel="base")
    return replace(base, reward=reward, tasks=tasks, select=pipe(base.select, latest), shape=useful_share())
