"""Step: makes judging tasks of labelled groups."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.synthesis.draft import SynthesisDraft, digest_of
from handaxe.synthesis.draft_groups import group_rollouts, judging_draft
from handaxe.synthesis.rationales import Cell, rationale_settings, with_rationales
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_text

__all__ = ["QUESTION", "judging_tasks"]

QUESTION = "Question: {question}\nA: {first}\nB: {second}\nWhich solution is correct? Answer A or B."
"""Text of a judging task; all three fields are JSON strings, so that no solution can end its field."""


class _Pair(NamedTuple):
    """Correct and incorrect text of a group."""

    right: str
    wrong: str

    @property
    def longer(self) -> int:
        """1 for a longer correct text, -1 for a shorter correct text, else 0."""
        return (len(self.right) > len(self.wrong)) - (len(self.right) < len(self.wrong))


def judging_tasks(*, desk: AskDesk | None = None, length: float = 0.2, max_tokens: int = 256) -> SynthesisStep:
    """Make the step "judging_tasks": a labelled group -> a question which of two rollouts is correct.

        pair       of a correct and an incorrect rollout of the group those with the nearest lengths
        length     dropped if the lengths differ by more than a share of the longer text; in a round, as many correct
                   texts are the longer ones as are the shorter ones, further pairs are dropped
        position   in a round, the correct text is in the first place in every second pair, in an order by digest
        source     neither names nor notes of the rollouts are shown
        rationale  with a model: its reasons are kept if its verdict is the label, else the pair is dropped; then places
                   and lengths are balanced again

    Args:
        desk: asks the model for rationales; None for tasks without them.
        length: greatest share by which lengths differ, 0 or more.
        max_tokens: of a model's answer.

    Returns:
        A step that reads drafts of kind "group" and makes drafts of kind "task" with the answer A or B; a rationale is
        in the metadata. The draft keeps question and answer of its origin for `decontaminate`.

    Raises:
        InputError: a negative length; while running, see `ask_values`.

    Example:
        rollouts "... 408" (correct) and "... 403" of "12*34=?"  ->  "Question: "12*34=?" A: "... 403" B: "... 408" ..."
        with the answer B

    Paper: arXiv:2505.02387 (RM-R1), judging pairs with rationales of a model whose verdict is the label.
    Unconfirmed: the wording of both prompts.
    Differs: lengths and positions are balanced in each round.
    """
    if length < 0:
        raise InputError(f"length is {length}; give a share of 0 or more")

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        pairs = [_nearest(one, length) for one in drafts]
        made = _balanced(drafts, pairs, at.seed)
        if desk is None:
            return made
        cells = [_cell(*own) for own in zip(pairs, made, strict=True)]
        return with_rationales(desk, made, cells, max_tokens=max_tokens)

    return SynthesisStep("judging_tasks", run, settings={**rationale_settings(desk), "length": length}, whole=True)


def _nearest(draft: SynthesisDraft, length: float) -> _Pair | str:
    rows = group_rollouts(draft)
    right = [one.text for one in rows if one.label > 0.5]
    wrong = [one.text for one in rows if one.label <= 0.5]
    pairs = [_Pair(one, two) for one in right for two in wrong if one != two]
    if not pairs:
        return "one label alone"
    best = min(pairs, key=lambda pair: (abs(len(pair.right) - len(pair.wrong)), pair))
    far = abs(len(best.right) - len(best.wrong)) > length * max(len(best.right), len(best.wrong))
    return "lengths differ" if far else best


def _balanced(drafts: Sequence[SynthesisDraft], pairs: Sequence[_Pair | str], seed: int) -> list[DraftOutcome]:
    order = sorted(range(len(drafts)), key=lambda k: digest_of("judging", seed, drafts[k].id))
    longer = [(k, pair.longer) for k in order if isinstance(pair := pairs[k], _Pair)]
    most = min(sum(side == 1 for _, side in longer), sum(side == -1 for _, side in longer))
    left, place = {1: most, -1: most}, 0
    out = dict[int, DraftOutcome]()
    for k in order:
        pair = pairs[k]
        if isinstance(pair, str):
            out[k] = dropped(pair)
        elif pair.longer and not left[pair.longer]:
            out[k] = dropped("length would tell")
        else:
            left[pair.longer] = left.get(pair.longer, 0) - 1
            out[k] = kept(_task(drafts[k], pair, place % 2))
            place += 1
    return [out[k] for k in range(len(drafts))]


def _cell(pair: _Pair | str, made: DraftOutcome) -> Cell | None:
    """Pairs of equal lengths are balanced by place, the others by place and length."""
    if isinstance(pair, str) or not made.kept:
        return None
    place = made.kept[0].payload["answer"]
    return Cell("unequal", (place, pair.longer), 4) if pair.longer else Cell("equal", place, 2)


def _task(draft: SynthesisDraft, pair: _Pair, place: int) -> SynthesisDraft:
    first, second = (pair.wrong, pair.right) if place else (pair.right, pair.wrong)
    fields = {"question": draft_text(draft), "first": first, "second": second}
    text = QUESTION.format(**{name: json.dumps(one, ensure_ascii=False) for name, one in fields.items()})
    return judging_draft(draft, text, "AB"[place])
