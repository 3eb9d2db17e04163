"""A judge of steps whose labels say how searches through them ended: Monte-Carlo labels, the base of GroundedPRM."""

from handaxe.judges.exact_steps import exact_steps
from handaxe.methods.method import Method
from handaxe.papers.grounded_prm.guided import guided
from handaxe.papers.grounded_prm.outcome_backup import outcome_backup
from handaxe.rollouts.search.mcts import mcts

__all__ = ["outcome_prm"]


def outcome_prm(base: Method, *, simulations: int = 8, trees: int = 96) -> Method:
    """Teach a judge by outcomes alone, and let it choose among next steps in evaluations.

    Args:
        simulations: of each tree; half of them look for what is wrong.
        trees: tasks that are searched.
    """
    turns, truth = base.settings.max_turns, exact_steps(verdicts=base.world.need("verdicts"))
    search = mcts(outcome=base.reward, back_up=outcome_backup(), simulations=simulations, max_turns=turns)
    return guided(base, search=search, agree=False, truth=truth, trees=trees)
