"""Tasks of tau2: selection, split and wording."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.tau2.customer_requests import customer_side, requests
from handaxe.worlds.tau2.domains import Domain, package
from handaxe.worlds.tau2.orders import COUNTS, compose_scenario
from handaxe.worlds.tau2.phone import ACTIONS, action_name
from handaxe.worlds.tau2.state import gold_actions, raw_task, transfers
from handaxe.worlds.tau2.user import first_person, manner
from handaxe.worlds.world import Split

__all__ = ["BRIEF_ATOMS", "Mode", "TaskChoice", "count_atoms", "tasks"]

Mode = Literal["user", "solo"]
BRIEF_ATOMS = (1, 2)
"""Default numbers of faults of brief tasks."""
PERSONAS = {"None": "plain", "Easy": "easy", "Hard": "hard"}
OPENINGS = {"service_issue": "no service", "mobile_data_issue": "slow data", "mms_issue": "no mms"}
TEST_PART = 5
"""Number of unassigned fault combinations per test task."""


class TaskChoice(NamedTuple):
    """Selection and wording of tasks; the arguments of the world. stepwise: the customer makes requests in turn."""

    domain: Domain
    mode: Mode
    brief: bool
    policy: bool
    atoms: tuple[int, ...]
    personas: tuple[str, ...]
    test_personas: tuple[str, ...]
    stepwise: bool = False


def tasks(choice: TaskChoice, split: Split, count: int, seed: int) -> list[Task]:
    """List the first `count` tasks of a split in the order of the seed, or all tasks if there are fewer.

    Raises:
        TaskError: count below 1; no task is left.
        InputError: an unknown persona.
    """
    if count < 1:
        raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
    if choice.stepwise and choice.brief:
        return [_order_task(choice, split, seed, number) for number in range(count)]
    made = [
        _task(choice, scenario, persona)
        for scenario in _scenarios(choice.domain, choice.brief, choice.atoms, split, choice.stepwise)
        for persona in _personas(choice, scenario, split)
    ]
    if not made:
        raise TaskError(f"tau2 has no task to {split} with {choice.atoms} faults: give atoms of 1 to 9")
    return sorted(made, key=lambda task: derive_seed("tau2 order", seed, task.id))[:count]


def count_atoms(scenario: str) -> int:
    """Count the faults of a telecom task; 1 for tasks of other domains.

    Example:
        count_atoms("[mms_issue]bad_vpn|data_mode_off[PERSONA:None]") is 2
    """
    return scenario.count("|") + 1


@functools.lru_cache(maxsize=64)
def _scenarios(domain: Domain, brief: bool, atoms: tuple[int, ...], split: Split, stepwise: bool) -> tuple[str, ...]:
    """Ids of the package; for telecom with these numbers of faults, or the package's benchmark by default."""
    found = package(domain)
    if stepwise:
        return tuple(one for one, side in customer_side(domain).items() if side == split)
    if domain != "telecom":
        return tuple(one for one in found.raw if one in found.sides[split])
    atoms = atoms or (BRIEF_ATOMS if brief else ())
    mine = [one for one in found.raw if count_atoms(one) in atoms] if atoms else list(found.sides[split])
    return tuple(sorted(one for one in mine if _side(one) == split and (not brief or _is_brief(one))))


def _side(scenario: str) -> Split:
    """The package's split, or a split by digest of the faults, for any persona."""
    sides = package("telecom").sides
    for split in ("train", "test"):
        if scenario in sides[split]:
            return split  # type: ignore[return-value]
    faults = scenario.partition("[PERSONA:")[0]
    return content_split("tau2 split", faults, one_in=TEST_PART)


def _is_brief(scenario: str) -> bool:
    """Whether the phone alone can fix it, with actions of brief worlds."""
    calls = gold_actions("telecom", scenario)
    return not transfers("telecom", scenario) and all(
        one.side == "user" and action_name(one.name, one.arguments) in ACTIONS for one in calls
    )


def _personas(choice: TaskChoice, scenario: str, split: Split) -> Sequence[str]:
    if choice.mode == "solo":
        return ("",)
    chosen = choice.personas if split == "train" else choice.test_personas
    for persona in chosen:
        manner(persona)
    found = re.search(r"\[PERSONA:(\w+)\]", scenario)
    return chosen or (PERSONAS[found[1]] if found else "plain",)


def _order_task(choice: TaskChoice, split: Split, seed: int, number: int) -> Task:
    scenario = compose_scenario(split, seed, number, choice.atoms or COUNTS)
    personas = _personas(choice, scenario, split)
    made = _task(choice, scenario, personas[number % len(personas)])
    return replace(made, id=f"{split}-{seed}-{number}/{made.id}")


def _task(choice: TaskChoice, scenario: str, persona: str) -> Task:
    raw = raw_task(choice.domain, scenario)
    metadata: dict[str, Any] = {
        "domain": choice.domain,
        "scenario": scenario,
        "kind": scenario[1:].partition("]")[0] if scenario.startswith("[") else choice.domain,
        "atoms": count_atoms(scenario),
        "persona": persona,
    }
    if choice.stepwise:
        metadata["requests"] = len(requests(choice.domain, scenario))
    messages = [Message("user", _question(choice, raw, metadata["kind"]))]
    if choice.policy and not choice.brief:
        told = package(choice.domain).policies[choice.mode == "solo"]
        messages.insert(0, Message("system", f"<policy>\n{told}\n</policy>"))
    name = f"{scenario}@{persona}" if persona else scenario
    return Task(f"{choice.domain}/{name}", tuple(messages), "done", None, metadata)


def _question(choice: TaskChoice, raw: Any, kind: str) -> str:
    told = raw["user_scenario"]["instructions"]
    if choice.stepwise:
        return requests(choice.domain, str(raw["id"]))[0].said
    if choice.brief:
        abroad = "abroad" in str(told["known_info"])
        return OPENINGS[kind] + (", abroad" if abroad else "")
    if choice.mode == "user":
        return first_person(told["reason_for_call"])
    if not raw.get("ticket"):
        raise InputError(f"the tasks of {choice.domain} have no ticket to work on alone: use --world.mode user")
    return raw["ticket"]
