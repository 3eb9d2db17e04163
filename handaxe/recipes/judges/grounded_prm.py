"""GroundedPRM: steps labelled by tree search and a tool that checks them teach a judge, which then guides a search."""

from handaxe.judges.exact_steps import exact_steps
from handaxe.judges.noisy import noisy
from handaxe.methods.guided import guided
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial
from handaxe.recipes.judges.outcome_prm import outcome_prm
from handaxe.rollouts.search.mcts import mcts
from handaxe.worlds.worked_steps import worked_steps

__all__ = ["grounded_prm"]

TITLE = "GroundedPRM: Tree-Guided and Fidelity-Aware Process Reward Modeling for Step-Level Reasoning"
SAME = "Both search as many trees with as many simulations, and choose among as many next steps."
MORE = "It finds more of the wrong steps than a judge of outcomes."
FOUND = "training/learner/step_agreement/f1"
RECIPE = Recipe(
    paper=Paper(TITLE, "GroundedPRM", "2510.14942", 125),
    claims=(
        Claim(MORE, FOUND, "up", over="area", vice=0.7, note=SAME),
        Claim("Guided by it, more answers are right.", "pass@1", "up", vice=0.95, note=SAME),
    ),
    base=outcome_prm,
    world=partial(worked_steps, ask="parity"),
    setting=Setting(model="start", steps=2, max_turns=8, max_tokens=24, held_out=100),
)


def grounded_prm(base: Method, *, wrong: float = 0.1, simulations: int = 8, trees: int = 96) -> Method:
    """Label steps by verdicts and outcomes together, and keep the paths on which the verdicts agree.

    Differs: verdicts are those of a rule, some of them turned around, where the paper has a language model read what a
    mathematics engine said; the judge answers at once; guided answers are not compared with a vote. Only this side's
    labels have noise, since the base's need none.

    Args:
        wrong: chance that a verdict is turned around.
        simulations: of each tree; half of them look for what is wrong.
        trees: tasks that are searched.
    """
    turns, truth = base.setting.max_turns, exact_steps(verdicts=base.world.need("verdicts"))
    verifier = noisy(judge=truth, spread=0.0, flip=wrong)
    search = mcts(outcome=base.reward, judge=verifier, simulations=simulations, max_turns=turns)
    return guided(base, search=search, agree=True, truth=truth, trees=trees)
