"""Prints what the experts of the world `priced` can do: `python -m handaxe.worlds.priced.skill`."""

from __future__ import annotations

import tyro

from handaxe.core.records import ToolCall
from handaxe.worlds.priced.desk import EXPERTS, Desk, reckoner
from handaxe.worlds.priced.world import call_for, priced

__all__ = ["Skill", "main", "skills"]

Skill = dict[str, dict[str, float]]
"""Expert -> difficulty -> share of questions answered rightly."""


def skills(*, count: int = 200, seed: int = 0) -> Skill:
    """Ask every expert every held-out question, really.

    Args:
        count: questions.
        seed: of the questions.

    Returns:
        For each expert and difficulty the share of questions to which it says the answer and nothing else but the
        quotes around a text.

    Example:
        skills()["python"]["text"] is 1.0 and skills()["calculator"]["text"] is 0.0
    """
    right: dict[str, dict[str, list[bool]]] = {expert: {} for expert in EXPERTS}
    for task in priced().tasks("test", count, seed):
        desk = Desk(task, reckoner())
        tools = {tool.schema.name: tool for tool in (desk.ask_small, desk.ask_calculator, desk.ask_python)}
        for expert in EXPERTS:
            asked = call_for(expert, task)
            said = tools[expert].run(ToolCall(expert, asked.arguments, "t0c0")).content.strip("'")
            right[expert].setdefault(task.metadata["difficulty"], []).append(said == task.answer)
        desk.close()
    return {
        expert: {difficulty: sum(found) / len(found) for difficulty, found in sorted(own.items())}
        for expert, own in right.items()
    }


def main(*, count: int = 200, seed: int = 0) -> None:
    """Print how often each expert is right.

    Args:
        count: questions.
        seed: of the questions.
    """
    for expert, own in skills(count=count, seed=seed).items():
        print(f"{expert:12}", "  ".join(f"{difficulty} {share:.2f}" for difficulty, share in own.items()))


if __name__ == "__main__":
    tyro.cli(main)
