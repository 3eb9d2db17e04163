"""Orders of tau2's retail shop for a policy that reads suggestions and does not know the shop's rules."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, Task, ToolCall
from handaxe.ops.seeds import derive_seed, generator
from handaxe.papers.sit_graph.advised_env import (
    ANSWER,
    SUMMARIZE,
    Adviser,
    ToolStep,
    advised_env,
    summarize_state,
)
from handaxe.worlds.tau2.customer_requests import requests
from handaxe.worlds.tau2.world import tau2
from handaxe.worlds.world import Expert, Facts, Start, World

__all__ = ["CHOICES", "TOOLS", "advised_orders", "correct_tool", "no_advice", "noisy_adviser"]

LOOK = "get_order_details"
CANCEL = "cancel_pending_order"
BACK = "return_delivered_order_items"
TOOLS = (LOOK, CANCEL, BACK, ANSWER)
CHOICES = (CANCEL, BACK, ANSWER)
"""Steps after a look at the order; the order's state and the customer's words decide."""
REASONS = ("no longer needed", "ordered by mistake")
COLD_START = Start(skill=180, steps=0, batch_size=8, learning_rate=2e-3)
SHOWN, CORRECT = 0.7, 0.85
"""Share of demonstrations with suggestions, and share of the suggestions that are correct."""


def advised_orders(*, adviser: Adviser, requests: tuple[int, ...] = (1, 2), guesses: bool = False) -> World:
    """Customer service for orders, `tau2` in its brief retail form, with the tool `summarize_state` and suggestions.

    After a look at an order the agent summarizes the state: status and the customer's words. Then the order is
    cancelled if it is pending, returned if it is delivered, or its status is told.

    Args:
        adviser: suggests next tools; `no_advice` for none. After a look it is asked once a summary is written.
        requests: numbers of requests of a conversation.
        guesses: the expert takes the first suggested tool after a summary, and one of the three at random without a
            suggestion: a cold start for a policy that depends on suggestions. Otherwise it knows the shop's rules.

    Returns:
        The world, with a start if `guesses`.

    Raises:
        InputError: a missing package (extra [tau2]).

    Example:
        "#W8121088 ordered by mistake", look: "pending", summarize_state("pending ordered by mistake"), suggestion
        "next cancel_pending_order", call of cancel_pending_order, "done"

    Paper: arXiv:2512.07287 (SIT-Graph), stateful conversations with tools, such as tau-bench.
    Differs: two requests about orders at most, three tools, replies of one line.
    """
    inner = tau2(
        domain="retail", user="requests", brief=True, atoms=requests, personas=("static",), test_personas=("static",)
    )

    def waiting(task: Task, steps: Sequence[ToolStep], summary: str) -> Sequence[str]:
        return () if steps and steps[-1].tool == LOOK and not summary else adviser(task, steps, summary)

    def env(tools: Sequence[Any]) -> EnvFactory:
        return advised_env(inner.env([*tools, summarize_state]), waiting)

    return replace(
        inner,
        name="advised_orders",
        env=env,
        expert=_expert(guesses=guesses),
        start=COLD_START if guesses else None,
    )


def no_advice(task: Task, steps: Sequence[ToolStep], summary: str) -> tuple[str, ...]:
    """Suggest nothing."""
    del task, steps, summary
    return ()


def noisy_adviser(task: Task, steps: Sequence[ToolStep], summary: str) -> tuple[str, ...]:
    """Suggest one or two tools for a demonstration, the first of them correct in 85 % of the places.

    30 % of the tasks have no suggestions. After a look there is a suggestion if a summary was written.

    Example:
        noisy_adviser(task, (), "") is () or ("get_order_details",), seldom another tool
    """
    if generator("suggestions", task.id).random() >= SHOWN or (steps and steps[-1].tool == LOOK and not summary):
        return ()
    rng = random.Random(derive_seed("suggestion", task.id, len(steps)))
    correct = correct_tool(task, steps)
    first = correct if rng.random() < CORRECT else rng.choice([one for one in TOOLS if one != correct])
    second = rng.choice([one for one in TOOLS if one != first])
    return (first, second) if rng.random() < 0.5 else (first,)


def correct_tool(task: Task, steps: Sequence[ToolStep]) -> str:
    """Return the correct tool after the steps of a conversation whose customer never repeats a request.

    Example:
        after a look at a pending order that is "no longer needed"  ->  "cancel_pending_order"; then "answer"
    """
    asked = requests("retail", task.metadata["scenario"])
    answered = [n for n, one in enumerate(steps) if one.tool == ANSWER]
    own = steps[answered[-1] + 1 :] if answered else steps
    current = asked[min(len(answered), len(asked) - 1)]
    return current.calls[len(own)].name if len(own) < len(current.calls) and len(own) < 2 else ANSWER


def _expert(*, guesses: bool) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        asked = requests("retail", task.metadata["scenario"])
        current = asked[min(facts.get("request", 0), len(asked) - 1)]
        steps = [] if facts["turn"] == 0 else facts["made"]
        own = [] if steps and steps[-1] == ANSWER else steps
        words = current.said.partition(" ")[2]
        if not own:
            return _call(LOOK, current.calls[0].arguments)
        if own != [LOOK]:
            return Message("assistant", "done")
        if not facts["summary"] and SUMMARIZE in facts["tools"]:
            return _call(SUMMARIZE, {"summary": f"{facts['reply'].split()[0]} {words}"})
        correct = current.calls[1].name if len(current.calls) > 1 else ANSWER
        drawn = random.Random(derive_seed("guess", task.id, facts.get("request", 0))).choice(CHOICES)
        chosen = (facts["advice"][0] if facts["advice"] else drawn) if guesses else correct
        return _chosen(chosen, current.calls[0].arguments, facts["reply"].split(), words)

    return expert


def _chosen(name: str, order: Any, found: Sequence[str], words: str) -> Message:
    """Message with the chosen step, its arguments filled from the order's line and the customer's words."""
    if name == ANSWER:
        return Message("assistant", found[0] if words not in REASONS else "done")
    if name == CANCEL:
        return _call(CANCEL, {**order, "reason": words if words in REASONS else REASONS[0]})
    if name == BACK:
        paid = found[-1] if len(found) > 1 else ""
        return _call(BACK, {**order, "item_ids": list(found[1:-1]), "payment_method_id": paid})
    return _call(LOOK, order)


def _call(name: str, arguments: Any) -> Message:
    return Message("assistant", "", (ToolCall(name, dict(arguments)),))
