"""Command that prints the accuracy of the tools of the world `routing`: `python -m handaxe.worlds.routing.skill`."""

from __future__ import annotations

import tyro

from handaxe.core.records import ToolCall
from handaxe.worlds.routing.desk import EXPERTS, Desk, small_model
from handaxe.worlds.routing.world import question_call, routing

__all__ = ["Skill", "main", "skills"]

Skill = dict[str, dict[str, float]]
"""Tool -> difficulty -> share of correct answers."""


def skills(*, count: int = 200, seed: int = 0) -> Skill:
    """Measure every tool on held-out questions.

    Args:
        count: number of questions.
        seed: seed of the questions.

    Returns:
        For each tool and difficulty the share of questions with exactly the correct answer as reply, except for quotes
        around a text.

    Example:
        skills()["python"]["text"] is 1.0 and skills()["calculator"]["text"] is 0.0
    """
    correct: dict[str, dict[str, list[bool]]] = {expert: {} for expert in EXPERTS}
    for task in routing().tasks("test", count, seed):
        desk = Desk(task, small_model())
        tools = {tool.schema.name: tool for tool in (desk.ask_small, desk.ask_calculator, desk.ask_python)}
        for expert in EXPERTS:
            call = question_call(expert, task)
            reply = tools[expert].run(ToolCall(expert, call.arguments, "t0c0")).content.strip("'")
            correct[expert].setdefault(task.metadata["difficulty"], []).append(reply == task.answer)
        desk.close()
    return {
        expert: {difficulty: sum(found) / len(found) for difficulty, found in sorted(by_difficulty.items())}
        for expert, by_difficulty in correct.items()
    }


def main(*, count: int = 200, seed: int = 0) -> None:
    """Print the accuracy of each tool.

    Args:
        count: number of questions.
        seed: seed of the questions.
    """
    for expert, by_difficulty in skills(count=count, seed=seed).items():
        print(f"{expert:12}", "  ".join(f"{difficulty} {share:.2f}" for difficulty, share in by_difficulty.items()))


if __name__ == "__main__":
    tyro.cli(main)
