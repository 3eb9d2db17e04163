"""Devidze's thesis (arXiv:2503.21949): compare rewards by teachers and by agents on exactly known processes."""

from handaxe.methods.method import StudyFunction
from handaxe.papers.reward_design.compare_agents import compare_agents
from handaxe.papers.reward_design.compare_designs import compare_designs
from handaxe.papers.reward_design.compare_teachers import compare_teachers
from handaxe.papers.reward_design.explors import SelfDesign
from handaxe.papers.reward_design.navigation import chain, line_key, rooms
from handaxe.papers.reward_design.policy_gradient import GradientBudget
from handaxe.papers.reward_design.q_learning import QBudget

__all__ = ["reward_design"]

DISTRACTOR = 0.01
"""Reward of the chain's distractor."""


def reward_design(
    *, states: int = 5, runs: int = 16, steps: int = 10_000, learners: int = 8, updates: int = 200, episodes: int = 1500
) -> StudyFunction:
    """Measure the three designs: EXPRD by Q-learning, EXPADARD by exact policy gradients, EXPLORS by REINFORCE.

    Figures:
        exprd/TASK/FIGURE       of `compare_designs`, in rooms and line_key
        expadard/TASK/FIGURE    of `compare_teachers`, likewise
        explors/TASK/FIGURE     of `compare_agents`, in chain and distracted_chain

    Args:
        states: of a sparse reward, beyond those with a true reward.
        runs: learners of a reward, of Q-learning and REINFORCE.
        steps: of Q-learning.
        learners: first policies of the exact policy gradient.
        updates: of the exact policy gradient.
        episodes: of REINFORCE.

    Paper: arXiv:2503.21949, of the papers NeurIPS 2021 (EXPRD), arXiv:2402.07019 (EXPADARD) and NeurIPS 2022 (EXPLORS).
    Idea: processes of at most 41 states show the designs without errors of function approximation.
    """

    def measure(seed: int) -> dict[str, float]:
        figures = dict[str, float]()
        budget = QBudget(steps=steps)
        gradient = GradientBudget(updates=updates)
        for name, task in (("line_key", line_key()), ("rooms", rooms())):
            designs = compare_designs(task, seed, states=states, runs=runs, budget=budget)
            teachers = compare_teachers(task, seed, learners=learners, budget=gradient)
            figures |= {f"exprd/{name}/{key}": value for key, value in designs.items()}
            figures |= {f"expadard/{name}/{key}": value for key, value in teachers.items()}
        for name, task in (("chain", chain()), ("distracted_chain", chain(distractor=DISTRACTOR))):
            agents = compare_agents(task, seed, runs=runs, design=SelfDesign(episodes=episodes))
            figures |= {f"explors/{name}/{key}": value for key, value in agents.items()}
        return dict(sorted(figures.items()))

    return measure
