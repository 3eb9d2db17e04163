"""Step: makes judging tasks of labelled steps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.asking.desk import AskDesk
from handaxe.synthesis.draft import SynthesisDraft, digest_of
from handaxe.synthesis.draft_groups import group_rollouts, judging_draft
from handaxe.synthesis.rationales import Cell, rationale_settings, with_rationales
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped
from handaxe.synthesis.task_drafts import draft_text

__all__ = ["STEP_QUESTION", "judging_steps"]

STEP_QUESTION = "Question: {question}\nSolution so far: {solution}\nIs its last step correct? Answer yes or no."
"""Text of a judging task; both fields are JSON strings, so that no solution can end its field."""


class _Step(NamedTuple):
    """Step of a rollout: number, text up to the step, and label."""

    turn: int
    text: str
    label: int


def judging_steps(*, desk: AskDesk | None = None, max_tokens: int = 256) -> SynthesisStep:
    """Make the step "judging_steps": a group with labelled steps -> questions whether a step is correct.

        choice   one labelled step of a group, correct in half of the groups and else incorrect, as far as there is one
        length   in a round, as many correct as incorrect steps of each number in a rollout; further ones are dropped,
                 and again after the verdicts of a model
        source   neither names nor notes of the rollouts are shown

    Args:
        desk: asks the model for rationales, see `with_rationales`; None for tasks without them.
        max_tokens: of a model's answer.

    Returns:
        A step that reads drafts of kind "group" and makes drafts of kind "task" with the answer yes or no. The draft
        keeps question and answer of its origin for `decontaminate`.

    Raises:
        InputError: while running, see `ask_values`.

    Example:
        first steps: 30 correct and 10 incorrect  ->  10 tasks with the answer yes, and 10 with the answer no

    Paper: arXiv:2510.14942 (GroundedPRM), a generative reward model of single steps.
    Differs: labels are balanced by the number of the step.
    """

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        chosen = [_chosen(one, at.seed) for one in drafts]
        made = _balanced(drafts, chosen, at.seed)
        if desk is None:
            return made
        cells = [one and Cell(one.turn, one.label, 2) for one in chosen]
        return with_rationales(desk, made, cells, max_tokens=max_tokens)

    return SynthesisStep("judging_steps", run, settings=rationale_settings(desk), whole=True)


def _balanced(drafts: Sequence[SynthesisDraft], chosen: Sequence[_Step | None], seed: int) -> list[DraftOutcome]:
    order = sorted(range(len(drafts)), key=lambda k: digest_of("judging steps", seed, drafts[k].id))
    counts = Counter((one.turn, one.label) for one in chosen if one is not None)
    left = {(turn, label): min(count, counts[turn, -label]) for (turn, label), count in counts.items()}
    out = dict[int, DraftOutcome]()
    for k in order:
        one = chosen[k]
        if one is None:
            out[k] = dropped("no labelled step")
        elif not left[one.turn, one.label]:
            out[k] = dropped("the place would tell")
        else:
            left[one.turn, one.label] -= 1
            out[k] = DraftOutcome((_task(drafts[k], one),))
    return [out[k] for k in range(len(drafts))]


def _chosen(draft: SynthesisDraft, seed: int) -> _Step | None:
    """A labelled step of a group: an incorrect step, if any, in half of the groups, else a correct step."""
    found = [_Step(*own) for one in group_rollouts(draft) for own in one.steps]
    found.sort(key=lambda one: digest_of(seed, one.turn, one.text))
    first = -1 if int(draft.id[-1], 16) % 2 else 1
    return next(iter(sorted(found, key=lambda one: one.label != first)), None)


def _task(draft: SynthesisDraft, one: _Step) -> SynthesisDraft:
    fields = {"question": draft_text(draft), "solution": one.text}
    text = STEP_QUESTION.format(**{name: json.dumps(own, ensure_ascii=False) for name, own in fields.items()})
    return judging_draft(draft, text, "yes" if one.label > 0 else "no")
