"""GroundedPRM (arXiv:2510.14942): train a step judge on tree search labels that tool verdicts confirm."""

from handaxe import judges
from handaxe.methods.method import Method
from handaxe.papers.grounded_prm.guided import guided
from handaxe.rollouts.search.mcts import mcts

__all__ = ["grounded_prm"]


def grounded_prm(base: Method, *, label_noise: float = 0.1, simulations: int = 8, trees: int = 96) -> Method:
    """Label steps by verdicts and outcomes, keep paths whose verdicts agree, and guide evaluations by the judge.

    Args:
        label_noise: probability that a verdict is inverted, in place of a language model's errors.
        simulations: simulations of a tree; half of them search for incorrect steps.
        trees: tasks that are searched; the paper has 40,000 samples.
    """
    turns, truth = base.settings.max_turns, judges.exact_steps(verdicts=base.world.need("verdicts"))
    verifier = base.judge.steps(rule=judges.noisy(judge=truth, spread=0.0, flip=label_noise))
    search = mcts(outcome=base.reward, judge=verifier, simulations=simulations, max_turns=turns)
    return guided(base, search=search, agree=True, truth=truth, trees=trees)
