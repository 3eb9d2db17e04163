"""A judge of steps whose labels say how searches through them ended: Monte-Carlo labels, the base of GroundedPRM."""

from handaxe.judges.exact_steps import exact_steps
from handaxe.methods.guided import guided
from handaxe.methods.method import Method, Recipe, Setting, partial
from handaxe.recipes.base.frozen import frozen
from handaxe.rollouts.search.mcts import mcts
from handaxe.rollouts.search.outcome_backup import outcome_backup
from handaxe.worlds.worked_steps import worked_steps

__all__ = ["outcome_prm"]

RECIPE = Recipe(
    base=frozen,
    world=partial(worked_steps, ask="parity"),
    setting=Setting(model="start", steps=2, max_turns=8, max_tokens=24, held_out=100),
)


def outcome_prm(base: Method, *, simulations: int = 8, trees: int = 96) -> Method:
    """Teach a judge by outcomes alone, and let it choose among next steps in evaluations.

    Args:
        simulations: of each tree; half of them look for what is wrong.
        trees: tasks that are searched.
    """
    turns, truth = base.setting.max_turns, exact_steps(verdicts=base.world.need("verdicts"))
    search = mcts(outcome=base.reward, back_up=outcome_backup(), simulations=simulations, max_turns=turns)
    return guided(base, search=search, agree=False, truth=truth, trees=trees)
