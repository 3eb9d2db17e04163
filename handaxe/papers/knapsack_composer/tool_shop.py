"""Tools of the world `toolbox` on offer by several vendors, some of them broken or mislabelled.

Example:
    a tool at rank 2 for a step of importance 3  ->  score 1.5 of each of its vendors' offers

Idea: the knapsack composer (arXiv:2510.16499) pays by probe runs for offers that a description alone cannot judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.ops.seeds import generator
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry, stub_value

__all__ = ["Offer", "ToolOrder", "call_offer", "make_order", "probe_offer", "single_steps"]

QUERIES = 3
"""Test queries of a probe run."""


class Offer(NamedTuple):
    """Tool of a vendor. state: "sound", "broken" (each call fails), or "lying" (a call does something else)."""

    entry: ToolEntry
    cost: int
    state: str


class ToolOrder(NamedTuple):
    """Composition task: required steps with importance [M], and offers by retrieval with scores [I, M]."""

    steps: tuple[Mapping[str, Any], ...]
    importance_M: np.ndarray
    offers: tuple[Offer, ...]
    score_IM: np.ndarray


def single_steps(tasks: Sequence[Task]) -> list[Mapping[str, Any]]:
    """Return the first step of each function among tasks of the world `toolbox`."""
    found: dict[str, Mapping[str, Any]] = {}
    for task in tasks:
        for step in task.metadata["steps"]:
            found.setdefault(step["function"], step)
    return list(found.values())


def make_order(
    catalogue: Catalogue,
    steps: Sequence[Mapping[str, Any]],
    *,
    seed: int,
    skills: int = 6,
    tools: int = 5,
    vendors: int = 3,
    faulty: float = 0.5,
) -> ToolOrder:
    """Draw steps of different functions, and offer the tools that retrieval finds for them.

    Every vendor sells every tool under the same description, at a price of 1 to 5. Half of the faulty offers are
    broken, half are lying; price and fault are independent. Offers arrive by rank: first the best tool of each skill,
    then the second. The offers of all vendors of a tool arrive in a row.

    Args:
        catalogue: searched with the query of each step.
        steps: of `single_steps`, at least `skills`.
        seed: of the draws.
        skills: steps of the order.
        tools: retrieved for a step.
        vendors: of each tool.
        faulty: share of offers that are not sound, in [0, 1].

    Returns:
        The order. The score of an offer is importance divided by rank, 0 for skills whose retrieval lacks the tool.

    Raises:
        InputError: too few steps, or a share out of [0, 1].
    """
    if not 0 <= faulty <= 1:
        raise InputError(f"faulty is {faulty}; give a share from 0 to 1")
    if len(steps) < skills:
        raise InputError(f"there are {len(steps)} steps with different functions for {skills} skills; give more tasks")
    rng = generator("knapsack_composer order", seed)
    drawn = [steps[number] for number in rng.permutation(len(steps))[:skills]]
    importance_M = rng.integers(1, 4, size=skills).astype(np.float64)
    rank_NM: dict[str, dict[int, int]] = {}
    entries: dict[str, ToolEntry] = {}
    found = [catalogue.find(step["query"], tools) for step in drawn]
    for rank in range(tools):
        for skill, own in enumerate(found):
            if rank < len(own):
                entries[own[rank].name] = own[rank]
                rank_NM.setdefault(own[rank].name, {})[skill] = rank + 1
    offers = tuple(_offer(entry, rng, faulty) for entry in entries.values() for _ in range(vendors))
    score_IM = np.zeros((len(offers), skills))
    for number, offer in enumerate(offers):
        for skill, rank in rank_NM[offer.entry.name].items():
            score_IM[number, skill] = importance_M[skill] / rank
    return ToolOrder(tuple(drawn), importance_M, offers, score_IM)


def call_offer(catalogue: Catalogue, offer: Offer, arguments: Mapping[str, Any]) -> str | None:
    """Execute a call of an offered tool; None if the tool rejects the arguments or is broken."""
    reply = catalogue.call(offer.entry.name, arguments)
    if offer.state == "broken" or reply.status != "ok":
        return None
    if offer.state == "lying":
        return str(stub_value(f"another function than {offer.entry.function}", arguments))
    return reply.content


def probe_offer(catalogue: Catalogue, offer: Offer, step: Mapping[str, Any]) -> bool:
    """Execute test queries for a step's function: the step's arguments with integers raised by 1, 2 and 3.

    Returns:
        Whether all results are correct. The arguments of the step are not among the queries if one is an integer.
    """
    for shift in range(1, QUERIES + 1):
        arguments = {
            name: value + shift if isinstance(value, int) and not isinstance(value, bool) else value
            for name, value in step["arguments"].items()
        }
        if call_offer(catalogue, offer, arguments) != str(stub_value(step["function"], arguments)):
            return False
    return True


def _offer(entry: ToolEntry, rng: np.random.Generator, faulty: float) -> Offer:
    cost = int(rng.integers(1, 6))
    draw = rng.random()
    return Offer(entry, cost, "sound" if draw >= faulty else "broken" if draw < faulty / 2 else "lying")
