"""Rationales of judging tasks: reasons of a model with a correct verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.records import Sampling
from handaxe.synthesis.ask_values import AskedValue, ask_values, desk_settings
from handaxe.synthesis.draft import SynthesisDraft, digest_of, make_draft
from handaxe.synthesis.step import DraftOutcome, dropped, kept
from handaxe.synthesis.task_drafts import draft_text

__all__ = ["Cell", "rationale_settings", "with_rationales"]

PROMPT = "judge"
READ = json_object({"rationale": str, "verdict": str})
TELLS = "verdicts would tell"


class Cell(NamedTuple):
    """Class of a judging task; the classes of a stratum have to be equally frequent.

    stratum   tasks that are balanced together, such as those about the first step
    kind      of the task, such as its answer
    of        number of kinds in the stratum
    """

    stratum: Hashable
    kind: Hashable
    of: int


def rationale_settings(desk: AskDesk | None) -> dict[str, str]:
    """JSON on which rationales depend; None for tasks without rationales."""
    if desk is None:
        return desk_settings(None)
    prompt = find_prompt(PROMPT, terse=desk.answerer.terse)
    return desk_settings(desk, f"{prompt.name} {prompt.digest[:12]}")


def with_rationales(
    desk: AskDesk, made: Sequence[DraftOutcome], cells: Sequence[Cell | None], *, max_tokens: int = 256
) -> list[DraftOutcome]:
    """Ask a model to judge the task of each outcome.

        kept  <=>  verdict = answer of the task, the rationale is not empty, and in each stratum all kinds are equally
                   frequent: further tasks are dropped, in an order by digest

    Without the last condition a model that prefers the first place would leave tasks whose answer is A.

    Args:
        desk: asks the model, which reads the task and not its answer.
        made: outcomes with one task or none.
        cells: of each outcome with a task; None for the others.
        max_tokens: of an answer.

    Returns:
        An outcome each: with the rationale in the metadata of the task, or dropped for another verdict or an answer of
        another form.

    Raises:
        InputError: see `ask_values`.

    Example:
        answer B, reply {"rationale": "12*34 is 408.", "verdict": "B"}  ->  kept;  verdict A: dropped
        verdict A to every task of a stratum with the answers A and B  ->  none is kept

    Paper: arXiv:2505.02387 (RM-R1), reasoning of a stronger model before a correct verdict.
    Unconfirmed: the wording of the prompt.
    Differs: an incorrect verdict is not asked again; the tasks are balanced after the verdicts.
    """
    tasks = [one.kept[0] for one in made if one.kept]
    prompt = find_prompt(PROMPT, terse=desk.answerer.terse)
    sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
    asks = [
        Ask(prompt, {"task": draft_text(one)}, role="judge", about=(one.id, -1, ""), sampling=sampling) for one in tasks
    ]
    found = iter(zip(tasks, ask_values(desk, asks, READ), strict=True))
    return _balanced([_outcome(*next(found)) if one.kept else one for one in made], cells)


def _balanced(made: Sequence[DraftOutcome], cells: Sequence[Cell | None]) -> list[DraftOutcome]:
    judged = {k: cell for k, cell in enumerate(cells) if cell and made[k].kept}
    counts, left = Counter(judged.values()), Counter[Cell]()
    for cell in counts:
        kinds = [count for other, count in counts.items() if other.stratum == cell.stratum]
        left[cell] = min(kinds) if len(kinds) == cell.of else 0
    out = list(made)
    for k in sorted(judged, key=lambda k: digest_of("verdicts", made[k].kept[0].id)):
        if left[judged[k]]:
            left[judged[k]] -= 1
        else:
            out[k] = dropped(TELLS)._replace(asked=made[k].asked)
    return out


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
