"""Share of instructions that a program of the form can carry out at all."""

from collections.abc import Sequence

from handaxe.core.records import Task
from handaxe.papers.language_to_rewards.instructions import goal_targets
from handaxe.papers.language_to_rewards.motion_check import carry_out, is_carried_out
from handaxe.papers.language_to_rewards.motion_commands import primitive_program, read_meaning
from handaxe.papers.language_to_rewards.setters import read_primitives, read_setters, write_setters

__all__ = ["expert_share"]


def expert_share(tasks: Sequence[Task]) -> dict[str, float]:
    """Execute the programs of the demonstrations.

    Args:
        tasks: of the world `motion_commands`, one or more.

    Returns:
        rewards     share of the tasks that are carried out by the setters of the meaning
        primitives  share that is carried out by the primitive skills of the demonstrations

    Example:
        "walk" and "walk, on tiptoe" -> {"rewards": 1, "primitives": 0.5}, since a skill walks at height 1

    Paper: arXiv:2306.08647 (Language to Rewards), the comparison of rewards with programs of primitive skills.
    Differs: programs by rule, beside those of the policies.
    """
    meanings = [read_meaning(task) for task in tasks]
    goals = [goal_targets(motion, stance) for motion, stance in meanings]
    by_reward = [carry_out((read_setters(write_setters(goal)),)) for goal in goals]
    by_skill = [carry_out(tuple(read_primitives(primitive_program(*meaning)))) for meaning in meanings]
    made = {"rewards": by_reward, "primitives": by_skill}
    return {
        name: sum(is_carried_out(states, goal) for states, goal in zip(runs, goals, strict=True)) / len(goals)
        for name, runs in made.items()
    }
