"""World of tools that are found during a rollout, with a simulator of tools and structured memories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from handaxe.asking.aux_question import aux_question
from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory, Rollout
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.aux_work import AuxWork, AuxWorkEnv
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.ask_aux import ask_aux
from handaxe.papers.deepagent.found_box import CALL, FIND, FOLD, FoundBox
from handaxe.papers.deepagent.structured_folding import FOLDED, structured_folding
from handaxe.papers.deepagent.structured_memory import WRITER, CallEvent, ask_memory, memory_text, rule_memory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue
from handaxe.worlds.toolbox.world import toolbox
from handaxe.worlds.world import DemonstrationNoise, Facts, Start, World

__all__ = ["SIMULATOR", "box_facts", "found_tools"]

SIMULATOR = "simulator"
"""Role that simulates tools."""
START = Start(DemonstrationNoise(call_rate=0.85, corrupt_rate=0.05), skill=250, steps=40, batch_size=16)
MOST_RESULTS = 20


def found_tools(*, lengths: tuple[int, ...] = (1, 2), results: int = 1, fold_after: int = 1) -> World:
    """Chains of brief calls of `toolbox` with tools that enter the rollout by a search, and a memory that folds.

    A tool is callable after a search result with the tool. The expert folds the memory after `fold_after` steps of a
    longer chain, and continues from three memories. The role "simulator" replies to calls of found tools with
    accepted arguments, and the role "memory" writes the memories; by default the stubs of the catalogue and
    `structured_memory.rule_memory`.

    A rollout is correct if all steps are made, and the answer is the result of the last call as the rollout saw it,
    also when a model simulated it.

    Args:
        lengths: calls of a chain, each 1 to 5, drawn evenly.
        results: tools in a search result, 1 to 20.
        fold_after: steps before the expert's fold, 1 or more.

    Returns:
        A world broken down by "length". Gauges: found, progress, entered (tools of a rollout), folds (share of
        rollouts with a fold), call_precision (share of calls that make a step) and turns.

    Raises:
        InputError: an argument out of range, or a missing package (bfcl-eval; extras [search] and [mcp]).

    Example:
        "5526 25, 1390 * 7": find_tools 5526 -> "t417 a"; call_tool t417 -> "4071"; fold_memory -> "Your memory:
        episodic t417 ... 4071 / working 1390 4071 7 / tool t417 a"; find_tools 1390; call_tool t230; answer "2817"

    Paper: arXiv:2510.21618 (DeepAgent), tool search over large tool sets, simulated APIs and structured memories.
    Differs: tools are some hundred functions of numbers under short names, for the tiny policy.
    """
    if fold_after < 1:
        raise InputError(f"fold_after is {fold_after}; give 1 step or more")
    made = toolbox(lengths=lengths, results=results)

    def env(tools: Sequence[Any]) -> EnvFactory:
        tool_chat(tools)  # raises early for bad tools

        def make(task: Task) -> Env:
            box = FoundBox(brief_catalogue(), task.metadata["steps"], results=results)
            return _FoundEnv(tool_chat([lambda: box, *tools])(task), task, box)

        return make

    return replace(
        made,
        name="found_tools",
        env=env,
        roles=(SIMULATOR, WRITER),
        correct=outcome(_is_correct),
        expert=_expert(fold_after),
        start=START,
        criteria=None,
        check=None,
        rollout=_folding,
        gauges={
            **{name: made.gauges[name] for name in ("found", "progress", "turns")},
            "entered": RatioMetric(lambda one, _: float(box_facts(one)["entered"])),
            "folds": RatioMetric(lambda one, _: float(box_facts(one)["folds"] > 0)),
            "call_precision": RatioMetric(
                lambda one, _: float(box_facts(one)["useful"]), lambda one, _: float(box_facts(one)["calls"])
            ),
        },
    )


def box_facts(one: Trajectory) -> Mapping[str, Any]:
    """Report of the tool box of a rollout."""
    return one.env["box"]  # type: ignore[no-any-return]


class _FoundEnv(AuxWorkEnv):
    """Conversation with the tool box, a simulator and a writer of memories."""

    def __init__(self, env: Env, task: Task, box: FoundBox):
        super().__init__(env, task)
        self.box = box
        self.events: list[CallEvent] = []
        self.folded_at, self.memory = 0, ""

    def work(self, turn: ParsedTurn) -> AuxWork:
        """Simulate calls, execute the turn, and write memories after a fold."""
        for call in turn.calls:
            document = self.box.described(call) if SIMULATOR in self.models else None
            if document is not None:
                fields = {"tool": document, "call": json.dumps(dict(call.arguments))}
                request = aux_question(SIMULATOR, "deepagent/simulate", self.models[SIMULATOR], fields)
                self.box.give(call, (yield from ask_aux(request)).text.strip())
        reply: EnvReply = yield turn
        words = {call.id: _words(call) for call in turn.calls}
        self.events += [
            CallEvent(one.name, words.get(one.call_id, ""), one.status, one.content)
            for one in reply.replies
            if one.name != FOLD
        ]
        facts = {**reply.facts, **self.box.report()}
        if any(one.name == FOLD and one.status == "ok" for one in reply.replies):
            facts[FOLDED] = yield from self._memory()
        return reply._replace(facts=facts)

    def _memory(self) -> Any:
        question = self.task.messages[-1].content
        if WRITER in self.models:
            recent = self.events[self.folded_at :]
            parts = yield from ask_memory(self.task, self.memory, recent, self.models[WRITER])
        else:
            parts = rule_memory(question, self.events)
        self.memory, self.folded_at = memory_text(parts), len(self.events)
        return self.memory

    def report(self) -> Mapping[str, Any]:
        return {**super().report(), "box": self.box.report(), "asked": dict(self.asked)}

    def snapshot(self) -> Any:
        return super().snapshot(), tuple(self.events), self.folded_at, self.memory

    def restore(self, state: Any) -> None:
        inner, events, self.folded_at, self.memory = state
        super().restore(inner)
        self.events = list(events)


def _words(call: ToolCall) -> str:
    """Arguments of a call as text: those of the called tool in order, without their names."""
    inner = call.arguments.get("arguments")
    values = [*inner.values()] if isinstance(inner, Mapping) else []
    return " ".join(str(one) for one in [*(v for k, v in call.arguments.items() if k != "arguments"), *values])


def _is_correct(one: Trajectory) -> float:
    facts = box_facts(one)
    return float(all(facts["made"]) and final_text(one).strip() == facts["result"])


def _expert(fold_after: int) -> Any:
    def expert(task: Task, facts: Facts) -> Message:
        steps = task.metadata["steps"]
        found, made = (facts.get(key, [False] * len(steps)) for key in ("found", "made"))
        if all(made) or not {FIND, CALL, FOLD} <= set(facts["tools"]):
            return Message("assistant", task.answer if all(made) else "I give up")
        number = made.index(False)
        step = steps[number]
        if number == fold_after and not facts.get("folds", 0):
            return Message("assistant", "", (ToolCall(FOLD, {}),))
        if not found[number]:
            return Message("assistant", "", (ToolCall(FIND, {"query": step["query"]}),))
        return Message("assistant", "", (ToolCall(CALL, {"name": step["name"], "arguments": step["arguments"]}),))

    return expert


def _folding(max_turns: int) -> Rollout:
    return structured_folding(max_turns=max_turns)
