"""Pages of documents, answered by a whole plan of tool calls with feedback on failures."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from handaxe.core.errors import InputError, Retry
from handaxe.core.images import Image
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory, Turn
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.mnms.execute_plan import Run, execute_plan
from handaxe.papers.mnms.plan import PlanError, PlanNode, parse_plan, plan_as_code
from handaxe.papers.mnms.plan_metrics import compare_plans, edit_similarity
from handaxe.papers.mnms.verify_plan import Signature, verify_plan
from handaxe.rewards.outcome import outcome
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.tools.ocr import recognize_text
from handaxe.tools.read_code import decode_codes
from handaxe.worlds.documents.page import Article, draw_page, draw_registry
from handaxe.worlds.documents.world import DETAIL, Kind, documents, page_of
from handaxe.worlds.plates.scene import SHOWN, UNIT
from handaxe.worlds.plates.zoom import parse_box
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Split, Start, World

__all__ = ["Check", "plans"]

Check = Literal["parse", "verify", "execute"]
SIZE = 200
"""Articles of the registry."""
START = Start(
    DemonstrationNoise(call_rate=0.9, corrupt_rate=0.1), skill=120, steps=30, batch_size=16, learning_rate=2e-3
)
SIGNATURES = {
    "zoom": Signature({"box": "text"}, {"image": "image"}),
    "ocr": Signature({"image": "image"}, {"number": "number"}),
    "read_code": Signature({"image": "image"}, {"number": "number"}),
    "search": Signature({"query": "number"}, {"price": "number", "post": "number"}),
    "calculator": Signature({"expression": "text"}, {"value": "number"}),
}
MISTAKES = (
    ("image=n0.image", "picture=n0.image"),
    ("image=n0.image", "image=n0.text"),
    ("zoom(", "crop("),
    (";", " "),
)
"""Text of a plan and a wrong text in its place: of an argument, an output, a tool, and a separator."""


def plans(
    *,
    kinds: tuple[Kind, ...] = ("number", "price", "total"),
    mistakes: float = 0.4,
    checks: tuple[Check, ...] = ("parse", "verify", "execute"),
) -> World:
    """Questions of the world `documents`, answered by one call of the tool `plan` with a whole plan.

    A plan is parsed, verified and executed. After a failure the policy reads the reason and may plan again. The result
    of a plan that runs is the answer and ends the rollout. The overview does not tell a printed slip from a coded one:
    a first plan with `ocr` fails in half of the cases, at its execution.

    Args:
        kinds: see `documents`.
        mistakes: share of the expert's first plans with a wrong argument, output, tool or separator, 0 to 1.
        checks: stages whose message the policy reads; for the others the message is "the plan failed".

    Returns:
        A world broken down by "kind". Gauges, of the last plan against the reference: tool_f1, argname_f1, argvalue_f1,
        edge_f1, plan_acc, and edit_distance of the tools; and replanned, the share of rollouts with a second plan. A
        plan that cannot be parsed has no node.

    Raises:
        InputError: an argument out of range, or a missing package (extras [vision] and [charts]).

    Example:
        "red price?": plan zoom(box="6 6 8 8");ocr(image=n0.image);search(query=n1.number) replies "execute: node 1: no
        number found"; with read_code in place of ocr the answer is "37"

    Paper: arXiv:2403.11085 (m&m's), plans of several steps with feedback by parsing, verification and execution.
    Differs: five tools on drawn pages replace 33 tools on photographs, sound and web services.
    """
    if not 0 <= mistakes <= 1 or set(checks) - {"parse", "verify", "execute"}:
        raise InputError(
            f"mistakes is {mistakes} and checks {checks!r}; give a share of 0 to 1, and parse, verify or execute"
        )
    pages = documents(kinds=kinds, forms=("printed", "coded"), needed=1.0, size=SIZE)
    registry = {article.number: article for article in draw_registry(SIZE, 0)}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return [_planned(task, mistakes) for task in pages.tasks(split, count, seed)]

    return World(
        name="plans",
        tasks=tasks,
        env=_env(registry, checks),
        correct=outcome(lambda one: float(_result(one) == one.task.answer)),
        breakdown=("kind",),
        hidden_keys=("slips",),
        is_answer=_is_answer,
        expert=_expert(),
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


def _planned(task: Task, mistakes: float) -> Task:
    """Add the reference plan, and the plans of the expert in order."""
    meta = task.metadata
    found = Task(task.id, task.messages, task.answer, metadata={**meta, "needs_tool": "yes"})
    rng = random.Random(derive_seed("plans", task.id))
    tries = [_plan(meta, reader) for reader in ("ocr", "read_code")[: 1 + (meta["form"] == "coded")]]
    wrong = [tries[0].replace(*rng.choice(MISTAKES), 1)] if rng.random() < mistakes else []
    return replace(found, metadata={**found.metadata, "plan": tries[-1], "tries": [*wrong, *tries]})


def _plan(meta: Mapping[str, Any], reader: str) -> str:
    """The plan of a question with a reader, as code."""
    nodes = [PlanNode("zoom", {"box": " ".join(map(str, meta["gold"]))}), PlanNode(reader, {"image": "<node-0>.image"})]
    if meta["kind"] != "number":
        nodes.append(PlanNode("search", {"query": "<node-1>.number"}))
    if meta["kind"] == "total":
        nodes.append(PlanNode("calculator", {"expression": "<node-2>.price+<node-2>.post"}))
    return plan_as_code(nodes)


class _Planner:
    """Executes the plans of a task. A plan changes nothing."""

    def __init__(self, task: Task, registry: Mapping[int, Article], checks: Sequence[Check]):
        self._task = task
        self._registry = registry
        self._checks = checks

    @tool(timeout=None)
    def plan(self, code: str) -> str:
        """Run a plan: zoom(box), ocr(image), read_code(image), search(query), calculator(expression).

        Args:
            code: calls, such as zoom(box="0 2 2 4");ocr(image=n0.image)
        """
        try:
            nodes = parse_plan(code)
            faults = verify_plan(nodes, SIGNATURES)
            if faults:
                raise PlanError(f"verify: {faults[0]}")
            return execute_plan(nodes, self._tools())
        except PlanError as error:
            stage = str(error).partition(":")[0]
            raise Retry(str(error) if stage in self._checks else "the plan failed") from error

    def snapshot(self) -> None:
        """Return None, the empty state."""

    def restore(self, state: None) -> None:
        """Do nothing."""

    def _tools(self) -> Mapping[str, Run]:
        return {
            "zoom": lambda args: {"image": self._zoom(args["box"])},
            "ocr": lambda args: {"number": _number(recognize_text(args["image"], detail=DETAIL), lines=2)},
            "read_code": lambda args: {"number": _number(decode_codes(args["image"]), lines=1)},
            "search": lambda args: self._search(args["query"]),
            "calculator": lambda args: {"value": _value(args["expression"])},
        }

    def _zoom(self, box: str) -> Image:
        region = parse_box(box)
        if region is None:
            raise PlanError(f"{box!r} is no box")
        left, top, right, bottom = (UNIT * side for side in region)
        page = draw_page(page_of(self._task), self._task.metadata["split"])
        return page.crop((left, top, right, bottom), longest=SHOWN)

    def _search(self, query: str) -> Mapping[str, str]:
        article = self._registry.get(int(query)) if query.isdecimal() else None
        if article is None:
            raise PlanError(f"no article {query}")
        return {"price": str(article.price), "post": str(article.postage)}


def _number(found: Sequence[str], *, lines: int) -> str:
    """The number of an article in the first of some lines. A recognizer finds single lines of digits in codes."""
    if len(found) != lines or not re.fullmatch("[0-9]{3}", found[0]):
        raise PlanError("no number found")
    return found[0]


def _value(expression: str) -> str:
    reply = calculator.run(ToolCall("calculator", {"expression": expression}))
    if reply.status != "ok":
        raise PlanError(reply.content)
    return reply.content


def _env(registry: Mapping[int, Article], checks: Sequence[Check]) -> Callable[[Sequence[Any]], EnvFactory]:
    def env(tools: Sequence[Any]) -> EnvFactory:
        probe = tool_chat([lambda: _Planner(Task("", (), None), registry, checks), *tools], final=["plan"])

        def make(task: Task) -> Env:
            return tool_chat([lambda: _Planner(task, registry, checks), *tools], final=["plan"])(task)

        return inherit_bound(make, probe)

    return env


def _expert() -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        """Give the plans of the task in order: one with a mistake, one with `ocr`, one with `read_code`."""
        tries = task.metadata["tries"]
        return Message("assistant", "", (ToolCall("plan", {"code": tries[min(facts["turn"], len(tries) - 1)]}),))

    return expert


def _result(trajectory: Trajectory) -> str:
    """The result of the plan that ran; "" without one."""
    return next((reply.content for reply in trajectory.replies if reply.name == "plan" and reply.status == "ok"), "")


def _is_answer(turn: Turn) -> bool:
    return any(reply.name == "plan" and reply.status == "ok" for reply in turn.replies)


def _last_plan(trajectory: Trajectory) -> list[PlanNode]:
    calls = [call for call in trajectory.calls if call.name == "plan"]
    try:
        return parse_plan(str(calls[-1].arguments.get("code", ""))) if calls else []
    except PlanError:
        return []


def _gold_plan(trajectory: Trajectory) -> list[PlanNode]:
    return parse_plan(trajectory.task.metadata["plan"])


def _f1(name: str) -> RatioMetric:
    return RatioMetric(
        lambda one, score: float(compare_plans(_last_plan(one), _gold_plan(one))[name].twice),
        lambda one, score: float(compare_plans(_last_plan(one), _gold_plan(one))[name].total),
    )


def _distance(trajectory: Trajectory) -> float:
    mine, theirs = ([node.name for node in plan] for plan in (_last_plan(trajectory), _gold_plan(trajectory)))
    return 1 - edit_similarity(mine, theirs)


GAUGES = {
    **{name: _f1(name) for name in ("tool_f1", "argname_f1", "argvalue_f1", "edge_f1", "plan_acc")},
    "edit_distance": RatioMetric(lambda one, score: _distance(one)),
    "replanned": RatioMetric(lambda one, score: float(sum(call.name == "plan" for call in one.calls) > 1)),
}
"""Metrics of every evaluation."""
