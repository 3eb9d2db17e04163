"""AgentEvolver: labels of steps are normalised apart from the outcome, and what is left of both is summed to go."""

from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.credit.turn_norm import turn_norm
from handaxe.judges.noisy import noisy
from handaxe.methods.method import Method, replace
from handaxe.papers.agent_evolver.earned_steps import earned_steps
from handaxe.papers.agent_evolver.from_experience import from_experience
from handaxe.rewards.step_labels import step_labels
from handaxe.training.loop.schedule import cosine

__all__ = ["agent_evolver"]


def agent_evolver(
    base: Method, *, alpha: float = 0.1, good: float = 0.2, wrong: float = 0.2, explored: int = 0, tips: int = 0,
    wider: float = 0.4, taught: int = 0,
) -> Method:  # fmt: skip
    """Add to the outcome's advantage, by ADCA-GRPO, what the steps still to come were found to be worth.

    Args:
        alpha: weight of the labels at first; it falls along half a cosine to 0 at the run's end. 0.1 in the paper.
        good: f, a good step's value, a bad one's is -f; 0.2 in the paper.
        wrong: chance that a label is turned around.
        explored: attempts without a task, of which the run's tasks are made beforehand; 0 keeps the world's.
        tips: most tips from earlier attempts that a sibling reads; 0 for none.
        wider: how much higher the ratio is clipped after a tip. Unconfirmed.
        taught: steps that teach a small policy to read tips, where there are any.
    """
    rule = earned_steps(criteria=base.world.need("criteria"), check=base.world.need("check"))
    judge = noisy(judge=rule, spread=0.0, flip=wrong)
    steps = turn_norm(channel="labels", std="population", weigh="trajectory", eps=1e-8)
    outcome = group_norm(channel="base", std="population")
    method = replace(
        base,
        reward=step_labels(base=base.reward, judge=judge, scale=good),
        credit=total({"outcome": (1.0, outcome), "steps": (cosine(alpha, steps=base.settings.steps), steps)}),
    )
    return from_experience(method, explored=explored, tips=tips, wider=wider, taught=taught)
