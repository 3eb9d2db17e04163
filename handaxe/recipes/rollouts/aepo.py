"""AEPO: ARPO's branches, in numbers that a first trajectory decides, spread by a penalty; clips keep a gradient."""

from handaxe.credit.entropy_scaled import entropy_scaled
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip_with_gradient import clip_with_gradient
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.rollouts.arpo import arpo
from handaxe.rollouts.branch_chance import branch_chance
from handaxe.rollouts.branching import branching
from handaxe.rollouts.probe_split import probe_split
from handaxe.worlds.sums import sums

__all__ = ["aepo"]

SPREAD = "More trajectories have branches than with ARPO, as accurate."
FEWER = "It plays a trajectory more from the start than ARPO, and so has fewer branches to spread; they are counted."
RECIPE = Recipe(
    paper=Paper("Agentic Entropy-Balanced Policy Optimization", "AEPO", "2510.14545", 143),
    claims=(Claim(SPREAD, "training/trajectories/left", "up", same="pass@1", over="area", note=FEWER),),
    base=partial(arpo, copies=4),
    world=sums,
    setting=Setting(model="start", group_size=1),
)


def aepo(base: Method, *, total: int = 8, copies: int = 4, turns: int = 3, vocabulary: int = 264) -> Method:
    """Branch as ARPO does, the less the more branches were made in a row, and train unsure tokens harder.

    Differs: one optimiser step a training step, at whose ratio of 1 nothing is clipped.

    Args:
        total: trajectories of a question; 16 in the paper.
        copies: most branches at a turn; 1 in the paper, where a trajectory has many turns to branch at.
        turns: most turns of a trajectory.
        vocabulary: ids that the policy can say; 264 for the tiny ones.
    """
    chance = branch_chance(vocabulary=vocabulary, penalty=0.05)
    rollout = branching(chance=chance, total=total, from_start=probe_split(), copies=copies, max_turns=turns)
    loss = replace(base, surrogate=clip_with_gradient(cap=3.0), reduction=token_mean())
    return replace(loss, rollout=rollout, shape=entropy_scaled(), annotate=(*base.annotate, "entropy"))
