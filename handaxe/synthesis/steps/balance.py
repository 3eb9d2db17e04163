"""Step: bounds how often a value of a note occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.synthesis.draft import SynthesisDraft, digest_of
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept

__all__ = ["balance"]


def balance(note: str, *, factor: float = 2.0) -> SynthesisStep:
    """Make the step "balance": no value of a note occurs more than `factor` times as often as the mean of the others.

        n_v = drafts with value v in the round;  m_v = mean of n_w over the other values w
        kept of v: min(n_v, ceil(factor m_v)), drawn by a digest of seed and draft;  with one value alone: all

    Args:
        note: name, such as "calls".
        factor: above 0.

    Returns:
        A step that keeps drafts with the note.

    Raises:
        InputError: a factor of 0 or below; while running, a draft without the note.

    Example:
        factor 2, note "calls": 10 drafts of 1 call, 2 of 2 and 2 of 3  ->  4, 2 and 2

    Paper: arXiv:2509.13761 (THOR), section 2.2: moderate down-sampling by the number of calls.
    Unconfirmed: the bound; the paper has no number.
    """
    if factor <= 0:
        raise InputError(f"factor is {factor}; give a number above 0")

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        if missing := [one.id for one in drafts if note not in one.notes]:
            raise InputError(f"draft {missing[0]} has no note {note!r} to balance by")
        found = Counter(str(one.notes[note]) for one in drafts)
        left: dict[Any, float] = {value: _most(found, value, factor) for value in found}
        reason = dict[str, str]()
        for one in sorted(drafts, key=lambda draft: digest_of("balance", at.seed, draft.id)):
            value = str(one.notes[note])
            reason[one.id] = "" if left[value] >= 1 else f"too many of one {note}"
            left[value] -= 1
        return [dropped(reason[one.id]) if reason[one.id] else kept(one) for one in drafts]

    return SynthesisStep("balance", run, settings={"note": note, "factor": factor}, whole=True)


def _most(found: Counter[str], value: str, factor: float) -> float:
    others = [count for key, count in found.items() if key != value]
    return -(-factor * sum(others) // len(others)) if others else float("inf")
