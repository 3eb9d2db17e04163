"""Outcome PRM, the base of GroundedPRM (arXiv:2510.14942): train a step judge on Monte-Carlo labels of outcomes."""

from handaxe import judges
from handaxe.methods.method import Method
from handaxe.papers.grounded_prm.guided import guided
from handaxe.papers.grounded_prm.outcome_backup import outcome_backup
from handaxe.rollouts.search.mcts import mcts

__all__ = ["outcome_prm"]


def outcome_prm(base: Method, *, simulations: int = 8, trees: int = 96) -> Method:
    """Label steps by outcomes alone, and guide evaluations by the judge.

    Args:
        simulations: simulations of a tree; half of them search for incorrect steps.
        trees: tasks that are searched.
    """
    turns, truth = base.settings.max_turns, judges.exact_steps(verdicts=base.world.need("verdicts"))
    search = mcts(outcome=base.reward, back_up=outcome_backup(), simulations=simulations, max_turns=turns)
    return guided(base, search=search, agree=False, truth=truth, trees=trees)
