"""World of synthesized environments: each task has tools of its own, Python code that runs in the sandbox."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any

from handaxe.core.errors import InputError, Retry, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import EnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.papers.astra.environment import environment_task, written_rows
from handaxe.papers.astra.qa_traces import FLAWS, SHAPES, QaTrace, chain_of_tables, trace_of
from handaxe.papers.astra.records import KINDS, TypedRecords, make_records
from handaxe.papers.astra.sub_questions import SubQuestion, decompose, needs_tools, score_decomposition
from handaxe.papers.astra.tool_writing import call_tool, merge_tools
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.solved import match_results, read_unsolved
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import ToolContext
from handaxe.worlds.jsonl import jsonl
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["accepted_task", "arena", "draw_trace", "sub_questions_of"]

START = Start(DemonstrationNoise(call_rate=0.85, corrupt_rate=0.1), skill=400, steps=60)
FLAWED = 0.3
"""Share of flawed traces."""
MOST = 200
"""Traces that are drawn for one task at most."""


def arena(
    *,
    file: str = "",
    distractors: tuple[int, int, int] = (1, 1, 1),
    spurious_rate: float = 0.4,
    outages: float = 0.0,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Questions of one to four sub-questions, with synthesized tools among distractors.

    A task is what the pipeline `astra_environments` accepts: a question with answer and documents is decomposed, the
    decomposition is verified, a Python tool with mock data is written for every sub-question and executed, tools of
    equal intent are merged and executed again, and distractors are drawn from three bands of similarity.

    Args:
        file: tasks.jsonl of the pipeline, as training tasks; "" makes them here. Test tasks are always made here.
        distractors: tools of high, middle and low similarity to the needed ones that are offered, too.
        spurious_rate: share of the expert's calling turns with a call of a distractor; training is to remove it.
        outages: share of calls that fail with a timeout; the expert calls again.
        size: names of each kind in the records, 16 to 2000; a quarter occurs in test questions alone.
        world_seed: of the records.

    Returns:
        A world broken down by "sub_count". Gauges: calls_per_solved (calls for a solved sub-question), sub_recall
        (share of solved sub-questions) and distractor_calls (share of calls of tools that are not needed).

    Raises:
        InputError: an argument out of range. TaskError: the file has no tasks of the pipeline.

    Example:
        "1204 town mayor?": town("1204") -> 4410, mayor("4410") -> 3071, and the answer "3071"; town_old("1204") -> 5120

    Paper: arXiv:2601.21558 (ASTRA), its environments.
    Differs: rules write questions, sub-questions and tools; all four scores must be 1, where the pipeline keeps the
        upper tenth of a round.
    """
    if min(distractors) < 0 or not 0 <= spurious_rate <= 1 or not 0 <= outages < 1:
        raise InputError(
            f"distractors from 0, spurious_rate 0 to 1, outages 0 to below 1: {distractors}, {spurious_rate}, {outages}"
        )
    records = make_records(seed=world_seed, size=size)
    given = _file_tasks(file) if file else []

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        if given and split == "train":
            return sorted(given, key=lambda task: derive_seed("arena order", seed, task.id))[:count]
        key = ("arena", world_seed, size, *distractors, seed, split)
        return [accepted_task(records, (*key, number), split, counts=distractors) for number in range(count)]

    def expert(task: Task, facts: Facts) -> Message:
        open_ = facts.get("open", list(range(len(task.metadata["sub_questions"]))))
        if not open_:
            return Message("assistant", str(task.answer))
        subs = sub_questions_of(task)
        ready = [subs[k] for k in open_ if subs[k].parent not in open_]
        calls = [ToolCall(one.table, {"name": one.key}) for one in ready]
        rng = random.Random(derive_seed("spurious", task.id, facts["turn"]))
        others = sorted(set(task.tools or ()) - set(task.metadata["needed"]))
        if others and rng.random() < spurious_rate:
            calls.append(ToolCall(rng.choice(others), {"name": ready[0].key}))
        return Message("assistant", "", tuple(calls))

    return World(
        name="arena",
        tasks=tasks,
        env=lambda offered: _env_factory(offered, outages),
        correct=exact_match(normalise=str.strip),
        breakdown=("sub_count",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=expert,
        start=START,
        gauges={
            "calls_per_solved": RatioMetric(lambda one, right: _calls(one), lambda one, right: _solved(one)),
            "sub_recall": RatioMetric(lambda one, right: _solved(one), lambda one, right: _needed(one)),
            "distractor_calls": RatioMetric(lambda one, right: _distracted(one), lambda one, right: _calls(one)),
        },
    )


def draw_trace(records: TypedRecords, split: Split, rng: random.Random, *, flawed: float = FLAWED) -> QaTrace:
    """Draw a question of a split with answer and documents, flawed with a probability."""
    width, depth = rng.choice(SHAPES)
    half = 0 if split == "train" else 1
    parts = list[tuple[str, list[str]]]()
    while len(parts) < width:
        kind = rng.choice(list(KINDS))
        start = rng.choice(records.halves[kind][half])
        if start not in [name for name, _ in parts]:
            parts.append((start, chain_of_tables(kind, depth, rng)))
    return trace_of(records, parts, rng, flaw=rng.choice(FLAWS) if rng.random() < flawed else "")


def accepted_task(
    records: TypedRecords, key: Sequence[str | int], split: Split, *, counts: tuple[int, int, int] = (1, 1, 1)
) -> Task:
    """Make the task of a key from the first trace whose environment is accepted.

    Raises:
        TaskError: none of 200 traces is accepted.
    """
    rng = random.Random(derive_seed(*key))
    for _ in range(MOST):
        trace = draw_trace(records, split, rng)
        subs = decompose(trace)
        if score_decomposition(trace, subs).mean < 1 or not needs_tools(trace, subs):
            continue
        rows = written_rows(subs, rng)
        codes = None if rows is None else merge_tools(subs, rows, rng)
        if codes is not None:
            return environment_task(trace, subs, codes, rng, name="-".join(map(str, key)), counts=counts)
    raise TaskError(f"no environment of {MOST} traces is accepted; give more records than {len(records.facts)}")


def sub_questions_of(task: Task) -> list[SubQuestion]:
    """Read the sub-questions of a task."""
    return [SubQuestion(*one) for one in task.metadata["sub_questions"]]


class _Arena(EnvWrapper):
    """Tells the expert which sub-questions are open, by index."""

    def __init__(self, env: Env, task: Task):
        super().__init__(env)
        self._subs = sub_questions_of(task)
        self._open = list(range(len(self._subs)))

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        for one in reply.replies:
            for k in self._open:
                solved, _ = match_results([one], {self._subs[k].table: [self._subs[k].answer]})
                if solved[0] and one.status == "ok":
                    self._open.remove(k)
                    break
        return reply._replace(facts={**reply.facts, "open": list(self._open)})

    def snapshot(self) -> Any:
        return self.env.snapshot(), tuple(self._open)

    def restore(self, state: Any) -> None:
        inner, open_ = state
        self.env.restore(inner)
        self._open = list(open_)


def _env_factory(offered: Sequence[Any], outages: float) -> EnvFactory:
    def make(task: Task) -> Env:
        found = task.metadata.get("environment")
        if not isinstance(found, Mapping):
            raise TaskError(f"task {task.id!r} has no tools; tasks of this world are made by astra_environments")
        made = [_tool(name, code, text, outages) for name, (code, text) in found.items()]
        return _Arena(tool_chat([*made, *offered])(task), task)

    return make


@lru_cache(maxsize=4096)
def _tool(name: str, code: str, description: str, outages: float) -> Tool:
    """The tool of a text of code."""

    def look(name: Annotated[str, "to look up"], context: ToolContext) -> str:
        draw = random.Random(derive_seed("outage", context.seed, tool_name, name))
        if draw.random() < outages:
            raise Retry("timeout: the server does not answer; call again")
        ran, text = call_tool(code, tool_name, name.strip())
        if not ran:
            raise Retry(text)
        return text

    tool_name = name
    look.__doc__ = description
    look.__annotations__ = {"name": Annotated[str, "to look up"], "context": ToolContext, "return": str}
    return tool(name=name, timeout=None)(look)


def _file_tasks(file: str) -> list[Task]:
    world = jsonl(file=file)
    found = [*world.tasks("train", 1 << 30, 0), *world.tasks("test", 1 << 30, 0)]
    if any("environment" not in task.metadata for task in found):
        raise TaskError(f"{file} has tasks without tools; give the tasks.jsonl of astra_environments")
    return found


def _calls(one: Trajectory) -> float:
    return float(len(one.calls) + sum(len(turn.parsed.errors) for turn in one.turns))


def _solved(one: Trajectory) -> float:
    return float(sum(match_results(one.replies, read_unsolved(one.task))[0]))


def _needed(one: Trajectory) -> float:
    return float(one.task.metadata["sub_count"])


def _distracted(one: Trajectory) -> float:
    return float(sum(call.name not in one.task.metadata["needed"] for call in one.calls))
