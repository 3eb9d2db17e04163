"""Pipeline of `handaxe synthesize`: tasks with simulated users whose goals the expert reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.synthesis import steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.steps.simulate_user import UserScenes
from handaxe.worlds.tau2.orders import is_composed, order_requests, order_side
from handaxe.worlds.tau2.user import MANNERS

__all__ = ["mua_users"]

MOST = 3
"""Goals of a user at most."""


def mua_users(
    at: PipelineContext,
    *,
    personas: tuple[str, ...] = ("plain", "easy", "hard"),
    tries: int = 2,
    temperature: float = 0.7,
    max_tokens: int = 256,
    batch: int = 128,
) -> Pipeline:
    """Make tasks of the brief shop of tau2 with a user: persona, scenario and goals.

        propose -> simulate_user -> dedupe -> decontaminate

    The rule draws requests about orders of training customers, and a persona. A model (`--proposer`) writes persona and
    requests after such an example; the shop has to know the orders, and the expert has to fulfil the requests.

    Args:
        personas: of `worlds.tau2.user.MANNERS`.
        tries: rollouts of the expert with the user.
        temperature, max_tokens: of a model's answer.
        batch: tasks of a round.

    Raises:
        InputError: another world, or an unknown persona.

    Example:
        "#W2378156 status?" and then "#W6247578 no longer needed", by a user who balks at every second answer

    Paper: arXiv:2508.18669 (MUA-RL), synthesis of conversations with a simulated user.
    Unconfirmed: form and filters of the paper's synthesis.
    Differs: goals are requests about orders of tau2's shop.
    """
    brief = all(is_composed(str(one.metadata.get("scenario", ""))) for one in at.tests)
    if at.world.name != "tau2" or not brief or not set(personas) <= set(MANNERS):
        raise InputError(
            "mua_users takes --world tau2 --world.domain retail --world.user requests --world.brief, and personas "
            f"out of {', '.join(MANNERS)}, not {at.world.name} and {', '.join(personas)}"
        )
    chosen = (
        steps.draw_tasks(at.world, options=at.options),
        steps.simulate_user(
            at.world,
            at.env,
            UserScenes(_goals, _with_user, "requests about orders"),
            personas=personas,
            desk=at.desk,
            tries=tries,
            temperature=temperature,
            max_tokens=max_tokens,
        ),
        steps.dedupe(similarity=1.1),
        steps.decontaminate(at.tests),
    )
    return Pipeline("mua_users", chosen, batch=batch, about={"world": at.world.name, "options": at.options})


def _goals(task: Task) -> list[str]:
    return str(task.metadata["scenario"]).split("|")


def _with_user(task: Task, persona: str, goals: Sequence[str]) -> Task:
    """The task of other requests, each about another order of training customers, and of a user with a persona."""
    scenario = "|".join(goals)
    asked, orders = order_requests(scenario), [one.partition(" ")[0] for one in goals]
    known = len(asked) == len(goals) <= MOST and len(set(orders)) == len(orders)
    if not known or any(order_side(one) != "train" for one in orders):
        raise TaskError(f"a user has up to {MOST} requests about orders of training customers, not {scenario[:60]!r}")
    own = {"scenario": scenario, "persona": persona, "requests": len(goals), "atoms": len(goals)}
    return replace(task, messages=(Message("user", asked[0].said),), metadata={**task.metadata, **own})
