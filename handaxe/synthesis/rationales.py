"""Rationales of judging tasks: reasons of a model with a correct verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.records import Sampling
from handaxe.synthesis.ask_values import AskedValue, ask_values, desk_settings
from handaxe.synthesis.draft import SynthesisDraft, make_draft
from handaxe.synthesis.step import DraftOutcome, dropped, kept
from handaxe.synthesis.task_drafts import draft_text

__all__ = ["rationale_settings", "with_rationales"]

PROMPT = "judge"
READ = json_object({"rationale": str, "verdict": str})


def rationale_settings(desk: AskDesk | None) -> dict[str, str]:
    """JSON on which rationales depend; None for tasks without them."""
    if desk is None:
        return desk_settings(None)
    prompt = find_prompt(PROMPT, terse=desk.answerer.terse)
    return desk_settings(desk, f"{prompt.name} {prompt.digest[:12]}")


def with_rationales(desk: AskDesk, made: Sequence[DraftOutcome], *, max_tokens: int = 256) -> list[DraftOutcome]:
    """Ask a model to judge the task of each outcome.

        kept  <=>  verdict = answer of the task, and the rationale is not empty

    Args:
        desk: asks the model, which reads the task and not its answer.
        made: outcomes with one task or none.
        max_tokens: of an answer.

    Returns:
        An outcome each: with the rationale in the metadata of the task, or dropped for another verdict or an answer of
        another form.

    Raises:
        InputError: see `ask_values`.

    Example:
        answer B, reply {"rationale": "12*34 is 408.", "verdict": "B"}  ->  kept;  verdict A: dropped

    Paper: arXiv:2505.02387 (RM-R1), reasoning of a stronger model before a correct verdict.
    Unconfirmed: the wording of the prompt.
    Differs: an incorrect verdict is not asked again.
    """
    tasks = [one.kept[0] for one in made if one.kept]
    prompt = find_prompt(PROMPT, terse=desk.answerer.terse)
    sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
    asks = [
        Ask(prompt, {"task": draft_text(one)}, role="judge", about=(one.id, -1, ""), sampling=sampling) for one in tasks
    ]
    found = iter(zip(tasks, ask_values(desk, asks, READ), strict=True))
    return [_outcome(*next(found)) if one.kept else one for one in made]


def _outcome(task: SynthesisDraft, own: AskedValue[dict[str, Any]]) -> DraftOutcome:
    return _checked(task, own.value)._replace(asked=own.asked)


def _checked(task: SynthesisDraft, value: Mapping[str, Any] | NoAnswer) -> DraftOutcome:
    if isinstance(value, NoAnswer):
        return dropped(f"no answer: {value.reason}")
    if value["verdict"].strip() != task.payload["answer"]:
        return dropped("another verdict")
    if not value["rationale"].strip():
        return dropped("no rationale")
    payload = {**task.payload, "metadata": {**task.payload["metadata"], "rationale": value["rationale"].strip()}}
    return kept(make_draft("task", payload, parents=task.parents, notes=task.notes))
