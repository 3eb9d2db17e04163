"""Repair of real packages: one mutated token, found and corrected with the package's own tests.

Kept: a world of code repair for users.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Criterion, Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.sandbox.check_sandbox import check_sandbox
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.met_by_turn import met_by_turn
from handaxe.worlds.repair.bench import RepairBench, listing, make_bench, numbered, read_source
from handaxe.worlds.repair.expert import edits, windows
from handaxe.worlds.repair.source import Edit, replace_token
from handaxe.worlds.repair.tasks import Mutant, mutants
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["HeldOut", "repair"]

HeldOut = Literal["function", "package"]
START = Start(skill=120, steps=0, batch_size=12, learning_rate=2e-3)
TURNS = 12
"""Turn limit of a demonstration."""
CONTEXT = 1536
TEST_PACKAGE = "hyperlink"
CRITERIA = {
    "read": "The faulty line was read.",
    "changed": "The faulty line differs from its faulty text.",
    "passing": "The failing test passes.",
    "repaired": "All tests of the module pass after the submission.",
}


def repair(*, longest: int = 8, held_out: HeldOut = "function", brief: bool = True) -> World:
    """Faulty functions of toolz, networkx and hyperlink: find the mutated token, correct it, and submit.

    A rollout is correct if it submits a module that passes all tests of its test file; the policy sees only one that
    fails. At least one further test fails on the faulty module. Tools: run_tests (the failing test), list (functions
    that it calls), read, replace, undo and submit. Code runs in a bubblewrap sandbox that has imported package and
    tests, in a forked process each. Replacements change expressions inside a function: new imports, functions, names
    from outside the file and dangerous builtins are refused, so that no edit reaches the tests.

    Args:
        longest: maximum of the expert's readings, replacements and two further turns, 5 or more; tasks above it are
            excluded.
        held_out: function (a quarter of the functions is in test) or package (hyperlink is in test, the other packages
            in train).
        brief: number only lines with code, and replace tokens instead of lines, for a policy that writes bytes.

    Returns:
        A world broken down by "package", with the gauges left (share of failing tests after the submission, 1 without
        one), runs and replacements. Give rollouts some turns more than `longest`. Longer task lists repeat tasks.

    Raises:
        InputError: an argument out of range; a package is missing or has another version (extra [repair]); bubblewrap
            is missing or cannot run.

    Example:
        "test_take fails" and list() -> "take 1-2", read("1-2") -> "1 def take(n, seq):\\n2  return islice(seq, n + 1)",
        replace("2 1 0") -> "ok"
    """
    if longest < 5 or held_out not in ("function", "package"):
        raise InputError(f"longest is 5 or more and held_out function or package, not {longest} and {held_out!r}")
    chosen: dict[Split, list[Mutant]] = {"train": [], "test": []}
    for one in mutants():
        read_source(one)
        if one.reads + one.tries + 2 <= longest:
            chosen[_side(one, held_out)].append(one)
    if not all(chosen.values()):
        raise InputError(f"no task has longest {longest} in both splits: raise longest")
    check_sandbox()
    by_key = {_key(one): one for one in mutants()}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(chosen[split], split, seed, number, brief=brief) for number in range(count)]

    def env(tools: Sequence[Any]) -> EnvFactory:
        example = chosen["train"][0]
        probe = tool_chat([lambda: make_bench(example, brief=brief), *tools], final=("submit",))

        def make(task: Task) -> Env:
            return _RepairEnv(task, tools, make_bench(by_key[task.metadata["mutant"]], brief=brief))

        return inherit_bound(make, probe)

    return World(
        name="repair",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_final(one)["repaired"])),
        breakdown=("package",),
        hidden_keys=("mutant",),
        expert=_expert(by_key, brief=brief),
        start=START if brief else None,
        start_turns=TURNS,
        start_context=CONTEXT,
        criteria=lambda task: [Criterion(name, text) for name, text in CRITERIA.items()],
        check=_check,
        gauges={name: _gauge(name) for name in ("left", "runs", "replacements")},
    )


def _side(one: Mutant, held_out: HeldOut) -> Split:
    if held_out == "package":
        return "test" if one.module.package == TEST_PACKAGE else "train"
    return content_split("repair split", one.module.name, one.function)


def _key(one: Mutant) -> str:
    """Name of a mutation, such as "toolz.itertoolz 370 1 < <= toolz.tests.test_itertoolz"."""
    return " ".join(map(str, (one.module.name, *one.edit, one.module.tests)))


def _task(known: Sequence[Mutant], split: Split, seed: int, number: int, *, brief: bool) -> Task:
    turn, place = divmod(number, len(known))
    rng = random.Random(derive_seed("repair", split, seed, turn))
    one = rng.sample(known, len(known))[place]
    file = one.module.name.replace(".", "/") + ".py"
    words = f"{one.shown} fails"
    if not brief:
        words = (
            f"One line of the file {file} of the package {one.module.package} is wrong, and the test {one.shown} of "
            f"{one.module.tests} fails. Find the line, correct it, run the test, and submit; then all tests of this "
            "file must pass."
        )
    metadata = {"mutant": _key(one), "package": one.module.package, "function": one.function, "tries": one.tries}
    return Task(f"repair-{split}-{seed}-{number}", (Message("user", words),), None, None, metadata)


def _expert(by_key: Mapping[str, Mutant], *, brief: bool) -> Callable[[Task, Facts], Message]:
    def expert(task: Task, facts: Facts) -> Message:
        one = by_key[task.metadata["mutant"]]
        if not {"list", "read", "replace", "run_tests", "undo", "submit"} <= set(facts["tools"]):
            return Message("assistant", "I give up")
        if not facts.get("listed"):
            return _calls(("list", {}))
        if facts["passing"]:
            return _calls(("submit", {}))
        undo: list[tuple[str, dict[str, Any]]] = [("undo", {})] * len(facts["edits"])
        rows, tried = read_source(one).mutated(one.edit), {(line, row) for line, row in facts["tried"]}
        functions = listing(one)
        for _, edit in edits(functions, rows):
            row = replace_token(rows[edit.line - 1], edit)
            assert row is not None, "the token was found in this line"
            if (edit.line, row) in tried:
                continue
            for window in windows(functions, edit, brief=brief):
                if window[0] not in facts["read"]:
                    return _calls(*undo, ("read", {"lines": _span(one, window, brief=brief)}))
            return _calls(*undo, ("replace", _replacement(one, edit, row, brief=brief)), ("run_tests", {}))
        return Message("assistant", "I give up")

    return expert


def _span(one: Mutant, window: Sequence[int], *, brief: bool) -> str:
    """Numbers of the first and the last line of a reading."""
    if not brief:
        return f"{window[0]}-{window[-1]}"
    numbers = numbered(one)
    return f"{numbers.index(window[0]) + 1}-{numbers.index(window[-1]) + 1}"


def _replacement(one: Mutant, edit: Edit, row: str, *, brief: bool) -> dict[str, Any]:
    if not brief:
        return {"line": edit.line, "text": row}
    nth = f" {edit.occurrence}" if edit.occurrence > 1 else ""
    return {"edit": f"{numbered(one).index(edit.line) + 1} {edit.old} {edit.new}{nth}"}


def _calls(*calls: tuple[str, Mapping[str, Any]]) -> Message:
    return Message("assistant", "", tuple(ToolCall(name, arguments) for name, arguments in calls))


def _check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria from the states after each turn; met criteria stay met."""

    def met(facts: Facts) -> list[bool]:
        state = {"read": facts["seen"], "changed": facts["changed"], "passing": bool(facts["passing"])}
        state["repaired"] = facts["submitted"] and facts["left"] == 0
        return [state[one.name] for one in criteria]

    return met_by_turn(trajectory, criteria, met)


def _final(one: Trajectory) -> Mapping[str, Any]:
    """Report of the bench."""
    state = one.env["state"]
    return state["BriefBench"] if "BriefBench" in state else state["ProseBench"]


def _gauge(name: str) -> RatioMetric:
    return RatioMetric(lambda one, right: float(_final(one)[name]))


class _RepairEnv(AsyncEnvWrapper):
    """Conversation with tools until the submission."""

    def __init__(self, task: Task, tools: Sequence[Any], bench: RepairBench):
        super().__init__(tool_chat([lambda: bench, *tools], final=("submit",))(task))
        self._bench = bench

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(facts=self._bench.facts())
