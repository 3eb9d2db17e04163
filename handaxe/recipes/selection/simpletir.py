"""SimpleTIR: an attempt ends at a void turn, and attempts with one are left out of the loss."""

from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain
from handaxe.rollouts.until_void import until_void
from handaxe.selection.pipe import pipe
from handaxe.selection.void_turns import void_turns
from handaxe.worlds.gym import gym

__all__ = ["simpletir"]

TITLE = "SimpleTIR: End-to-End Reinforcement Learning for Multi-Turn Tool-Integrated Reasoning"
LOWER = "The largest gradient norms are lower than where attempts with a void turn train too."
NOTE = "A fifth of all tool replies are noise that the policy never read, for both sides and in tests too."
KEPT = "simpletir --keep"
RECIPE = Recipe(
    paper=Paper(TITLE, "SimpleTIR", "2509.02479", 164),
    claims=(
        Claim(LOWER, "training/grad_norm", "down", over="worst", baseline=KEPT, same="pass@1", vice=1.0, note=NOTE),
    ),
    base=partial(plain, minibatches=4),
    world=partial(gym, noise=0.2),
    setting=Setting(tools=("python",), max_turns=5),
)


def simpletir(base: Method, *, keep: bool = False) -> Method:
    """End at a turn with neither call nor answer, and train without the tokens of attempts that hold one.

    Differs: groups of equal rewards are dropped only where the base does so (`--base dapo`).

    Args:
        keep: train on those attempts all the same, to compare with.
    """
    answered = base.world.need("answered")
    rollout = until_void(answer=answered, max_turns=base.setting.max_turns)
    kept = pipe(base.select, void_turns(answer=answered, keep=keep))
    return replace(base, rollout=rollout, surrogate=dual_clip(eps_high=0.28), select=kept)
