"""GroundedPRM: steps labelled by tree search and a tool that checks them teach a judge, which then guides a search."""

from handaxe.judges.exact_steps import exact_steps
from handaxe.judges.noisy import noisy
from handaxe.methods.method import Method
from handaxe.papers.grounded_prm.guided import guided
from handaxe.rollouts.search.mcts import mcts

__all__ = ["grounded_prm"]


def grounded_prm(base: Method, *, wrong: float = 0.1, simulations: int = 8, trees: int = 96) -> Method:
    """Label steps by verdicts and outcomes together, and keep the paths on which the verdicts agree.

    Args:
        wrong: chance that a verdict is turned around.
        simulations: of each tree; half of them look for what is wrong.
        trees: tasks that are searched.
    """
    turns, truth = base.settings.max_turns, exact_steps(verdicts=base.world.need("verdicts"))
    verifier = noisy(judge=truth, spread=0.0, flip=wrong)
    search = mcts(outcome=base.reward, judge=verifier, simulations=simulations, max_turns=turns)
    return guided(base, search=search, agree=True, truth=truth, trees=trees)
