"""TAPO: DAPO over attempts with tools, each kind of question with a check of its own, and nothing paid for calls."""

from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.dapo import dapo
from handaxe.rewards.annealed_calls import annealed_calls
from handaxe.rewards.by_task import by_task
from handaxe.rewards.edit_similarity import in_digits
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.numeric_match import numeric_match
from handaxe.rewards.overlong import overlong
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.sums import sums

__all__ = ["tapo"]

TITLE = "Tool-Augmented Policy Optimization: Synergizing Reasoning and Adaptive Tool Use with Reinforcement Learning"
FEWER = "Fewer calls than where calls are paid for, as accurate."
RECIPE = Recipe(
    paper=Paper(TITLE, "TAPO", "2510.07038", 211),
    claims=(Claim(FEWER, "calls", "down", baseline="tapo --each 0.2", same="pass@1", vice=0.8),),
    base=partial(dapo, rounds=10),
    world=sums,
    setting=Setting(model="start"),
)


def tapo(base: Method, *, each: float = 0.0) -> Method:
    """Train with DAPO on a check by kind of question, and on -1 for what is malformed.

    Args:
        each: paid for a turn that calls, by which runs are compared; 0 in the paper.

    Differs: calls are no tags. Questions of facts, a twentieth of the paper's, with edit_similarity for their check,
    are not in this world.
    """
    checks = {"easy": exact_match(normalise=in_digits), "hard": numeric_match(abs_tol=1e-3)}
    kinds = by_task(key="difficulty", rewards=checks)
    checked = ladder([Rung("format", well_formed(), weight=0.0, failed=-1.0), Rung("answer", kinds)])
    calls, long = annealed_calls(scale=1.0, each=1.0, most=3.0), overlong(limit=64, cache=32)
    reward = weighted({"correct": (1.0, checked), "calls": (each, calls), "overlong": (1.0, long)})
    return replace(base, reward=reward, surrogate=dual_clip(eps_high=0.28, cap=10.0))
