"""CALM: reaching the next sub-goal pays at once, beside what the environment pays in the end."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.subgoals import subgoals
from handaxe.rewards.weighted import weighted
from handaxe.worlds.minigrid_text import minigrid_text

__all__ = ["calm"]

TITLE = "Assessing the Zero-Shot Capabilities of LLMs for Action Evaluation in RL"
SOONER = "Fewer acts until half of the grids are solved than with the sparse reward alone."
RECIPE = Recipe(
    paper=Paper(TITLE, "CALM", "2409.12798", 128),
    claims=(Claim(SOONER, "pass@1", "down", over="first", level=0.5, axis="calls"),),
    base=grpo,
    world=partial(minigrid_text, size=6),
    setting=Setting(
        model="start", max_turns=12, max_tokens=16, steps=20, groups=8, group_size=6, held_out=100, eval_every=2
    ),
)


def calm(base: Method, *, bonus: float = 0.5) -> Method:
    """Add a bonus in the turn in which the first sub-goal left is reached.

    Unconfirmed: the formula. Differs: sub-goals are the world's criteria, checked by rule, where the paper has language
    models name and judge them (`calm_judged` has a judge); attempts are judged as a whole.

    Args:
        bonus: b, of a sub-goal; a right answer is worth 1.
    """
    goals = subgoals(criteria=base.world.need("criteria"), check=base.world.need("check"), bonus=bonus)
    return replace(base, reward=weighted({"correct": (1.0, base.reward), "goals": (1.0, goals)}))
