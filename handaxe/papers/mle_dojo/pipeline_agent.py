"""Scripted agents that write programs with faults, read the replies, and improve on the best program."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from handaxe.core.records import Message, Task, ToolCall
from handaxe.ops.seeds import derive_seed
from handaxe.papers.mle_dojo.competitions import entry_code
from handaxe.worlds.parts.table_pipelines import STAGES, TableChoice, pipeline_source
from handaxe.worlds.world import Expert, Facts

__all__ = ["Draft", "FAULTS", "pipeline_agent"]

FAULTS: tuple[Callable[[str], str], ...] = (
    lambda code: code.replace("SimpleImputer(), ", ""),
    lambda code: code[:-1],
    lambda code: code.replace("SimpleImputer", "Imputer"),
    lambda code: code.replace("enter(", "make_pipeline("),
)
"""No imputation (fails unless the model accepts NaN), a missing bracket, an unknown name, and no submission."""


class Draft(NamedTuple):
    """A program and the pipeline that it was meant to be."""

    choice: TableChoice
    code: str


def pipeline_agent(*, validates: bool, improves: bool, fault_rate: float, regression: bool, seed: int) -> Expert:
    """Make an agent for one rollout of a competition.

    A draft is a pipeline; with probability `fault_rate` the program has a fault. An agent that validates spends a step
    on the validation of each draft, executes a valid one in the next step and drops an invalid one. An agent that
    improves changes one stage of the best executed pipeline; another draws each pipeline anew. The agent never stops.

    Args:
        validates: validate before execution.
        improves: start from the best executed pipeline.
        fault_rate: share of drafts with a fault.
        regression: the competition has numbers as targets.
        seed: of the drafts; agents with equal seeds have the same chances.

    Returns:
        An expert with state, for a single rollout.

    Example:
        validates, a faulty and a good draft: validate (invalid), validate (valid), execute

    Idea: agents that differ in one habit show the value of the environment's feedback; language models replaced.
    """
    rng = random.Random(derive_seed("pipeline_agent", seed))
    best: tuple[float, TableChoice] | None = None
    draft: Draft | None = None
    valid = False

    def write() -> Draft:
        choice = _draw(rng) if best is None or not improves else _changed(best[1], rng)
        code = entry_code(pipeline_source(choice, regression=regression))
        return Draft(choice, rng.choice(FAULTS)(code) if rng.random() < fault_rate else code)

    def speak(task: Task, facts: Facts) -> Message:
        nonlocal best, draft, valid
        del task
        ended = draft is not None
        fine = bool(facts["statuses"]) and facts["statuses"][-1] == "ok"
        if draft is not None and validates and not valid:
            valid = fine
            ended = not fine
        elif draft is not None and fine:
            score = _position(facts["replies"][-1])
            best = (score, draft.choice) if best is None or score > best[0] else best
        if ended or draft is None:
            draft = write()
            valid = False
        name = "validate_code" if validates and not valid else "execute_code"
        return Message("assistant", "", (ToolCall(name, {"code": draft.code}),))

    return speak


def _draw(rng: random.Random) -> TableChoice:
    return TableChoice(*(rng.choice(options) for options in STAGES.values()))


def _changed(choice: TableChoice, rng: random.Random) -> TableChoice:
    """Change one stage to another option."""
    stage = rng.choice(list(STAGES))
    others = [option for option in STAGES[stage] if option != getattr(choice, stage)]
    return choice._replace(**{stage: rng.choice(others)})


def _position(reply: str) -> float:
    """Position score in the reply to an execution.

    Example:
        "accuracy 0.912 position 0.63 best 0.63" -> 0.63
    """
    words = reply.split()
    return float(words[words.index("position") + 1])
