"""TA-MDP: what normalising the parts of a reward apart does to the gradient, computed; nothing is trained."""

from handaxe.evaluation.decomposition import angles_of_cases
from handaxe.methods.study import Bound, Measured, Paper, Study

__all__ = ["ta_mdp"]

TITLE = "Rethinking Reinforcement Fine-Tuning in LVLM: Convergence, Reward Decomposition, and Generalization"
STUDY = Study(
    paper=Paper(TITLE, "TA-MDP", "2604.19857", 208),
    bounds=(
        Bound("Normalising apart is harmless where parts are uncorrelated.", "uncorrelated", most=1.0),
        Bound("It is where uncorrelated parts have equal spreads, too.", "uncorrelated_equal", most=1.0),
        Bound("It is where correlated parts have equal spreads.", "correlated_equal", most=1.0),
        Bound("It is in small groups whose parts have equal spreads on the whole.", "small_groups", most=1.0),
    ),
)


def ta_mdp(*, size: int = 32, small: int = 4, spread: float = 5.0) -> Measured:
    """Compute degrees between joint and apart, of gradients on a process of four attempts. Unconfirmed: see the parts.

    Args:
        size: siblings of a large group.
        small: of a small one.
        spread: of the second part, as a multiple of the first's, where they differ.
    """
    return lambda seed: angles_of_cases(size=size, small=small, spread=spread)
