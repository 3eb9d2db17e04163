"""Step: writes a rubric for each task, and drops criteria met by most rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.synthesis.draft import SynthesisDraft, make_draft
from handaxe.synthesis.draft_rollouts import DraftRollouts, scored_ones
from handaxe.synthesis.rubric_writer import RubricWriter, WrittenRubric
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task

__all__ = ["rubric"]


def rubric(writer: RubricWriter, rollouts: DraftRollouts, *, below: float = 0.75) -> SynthesisStep:
    """Make the step "rubric": a task -> the task with a rubric in the metadata.

        p_c    share of the task's scored rollouts that meet criterion c
        kept   criteria with positive points and p_c < below, and those with negative points; a task keeps its rubric
               if a criterion with positive points is left

    With `below` up to 1 some rollout fails each positive criterion.

    Args:
        writer: a rule, such as `reference_rubrics`, or a model, `AskedRubrics`.
        rollouts: of a policy, or of the rule.
        below: bound of the pass rate, above 0 and at most 1.

    Returns:
        A step that reads and makes drafts of kind "task", with "rubric" in the metadata, a name, text and points each,
        and the note "rubric" with the pass rates.

    Raises:
        InputError: a bound out of range; while running, see the writer. VerifierError: no rollout could be scored.

    Example:
        criteria "call 0" and "answer" with pass rates 1 and 0.5  ->  the rubric "answer"

    Paper: arXiv:2510.15859 (ORBIT), rubrics of single cases, and the filter of criteria by pass rate.
    Unconfirmed: the bound.
    Differs: nothing known.
    """
    if not 0 < below <= 1:
        raise InputError(f"below is {below}; give a share above 0 and up to 1")

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        written = writer.write(drafts)
        open_ = [k for k, one in enumerate(written) if not one.reason]
        played = rollouts.play([draft_task(drafts[k]) for k in open_], at)
        groups = [[one for one, _ in scored_ones(*own) if one.turns] for own in played]
        pairs = [(written[k].criteria, one) for k, group in zip(open_, groups, strict=True) for one in group]
        found = iter(writer.met(pairs))
        out = [dropped(one.reason)._replace(asked=one.asked) for one in written]
        for k, group in zip(open_, groups, strict=True):
            own = [next(found) for _ in group]
            calls = (*written[k].asked, *(call for _, asked in own for call in asked))
            out[k] = _outcome(drafts[k], written[k], [met for met, _ in own], below)._replace(asked=calls)
        return out

    settings = {"writer": writer.settings, "rollouts": dict(rollouts.settings), "below": below}
    return SynthesisStep("rubric", run, settings={**settings, "world": rollouts.world.name})


def _outcome(
    draft: SynthesisDraft, written: WrittenRubric, met: Sequence[np.ndarray | None], below: float
) -> DraftOutcome:
    known = [one for one in met if one is not None]
    if not known:
        return dropped("no verdict" if met else "unscored")
    rate_C = np.mean(known, axis=0)
    left = [one for one, rate in zip(written.criteria, rate_C, strict=True) if one.points < 0 or rate < below]
    if not any(one.points > 0 for one in left):
        return dropped("every criterion is easy")
    rates = {one.name: round(float(rate), 6) for one, rate in zip(written.criteria, rate_C, strict=True)}
    rows = [_row(one) for one in left]
    payload = {**draft.payload, "metadata": {**draft.payload["metadata"], "rubric": rows}}
    note = {"written": len(written.criteria), "kept": len(left), "rates": rates, "rollouts": len(known)}
    return kept(make_draft(draft.kind, payload, parents=(draft.id,), notes={**draft.notes, "rubric": note}))


def _row(one: Criterion) -> dict[str, Any]:
    return {"name": one.name, "text": one.text, "points": one.points}
