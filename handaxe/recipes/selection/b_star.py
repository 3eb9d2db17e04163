"""B-STaR: a policy teaches itself, at the temperature that balances what is new against what is right."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.frozen import frozen
from handaxe.training.balanced_sampling import balanced_sampling
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.teach import teach

__all__ = ["b_star"]

TITLE = "B-STaR: Monitoring and Balancing Exploration and Exploitation in Self-Taught Reasoners"
FIXED = "b_star --temperatures 1.0"
NOTE = "Both sides learn from as many groups; tasks that are tried to choose a temperature come on top of that."
RECIPE = Recipe(
    paper=Paper(TITLE, "B-STaR", "2412.17256", 103),
    claims=(
        Claim("More is right in one of eight attempts.", "pass@8", "up", baseline=FIXED, vice=0.95, note=NOTE),
        Claim("And in one attempt.", "pass@1", "up", baseline=FIXED, vice=0.9, note=NOTE),
    ),
    base=frozen,
    setting=Setting(steps=1, groups=1, held_out=100, samples=8),
)


def b_star(
    base: Method,
    *,
    temperatures: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25),
    thresholds: tuple[float, ...] = (0.5,),
    rounds: int = 6,
    tasks: int = 24,
    tries: int = 16,
) -> Method:
    """Fine-tune on unlike right attempts of the policy's own, round after round; no reinforcement learning.

    The temperature that a round chose stands in the record of what it played. Unconfirmed: how scores of answers and
    of steps are added up; here the reward is the world's alone, and a policy that is right needs one threshold.

    Args:
        temperatures: of the grid, tried on 8 tasks each; one alone is what the paper compares with.
        thresholds: of the grid, in units of reward.
        rounds: of playing and fine-tuning, from the newest weights; 9 in the paper.
        tasks: played in a round.
        tries: attempts at each; 64 in the paper.
    """
    source = balanced_sampling(temperatures=temperatures, thresholds=thresholds, groups=tasks, group_size=tries)
    taught = teach(source=source, learning_rate=3e-4, optional=True)
    return replace(base, stages=(*base.stages, repeat(stages=[taught], times=rounds)))
