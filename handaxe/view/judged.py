"""Questions that a run asked its judge about a rollout, for the page of the rollout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handaxe.asking.store import StoredCall, read_calls
from handaxe.core.errors import InputError
from handaxe.methods.judge_role import STORE
from handaxe.training.record.regular_file import check_regular

__all__ = ["judge_calls"]


def judge_calls(folder: Path, trajectory: str) -> list[dict[str, Any]]:
    """Questions about a rollout with their answers, in order; [] for a run without a judge's questions.

    A store that is damaged, or no regular file of the run, counts as none.
    """
    path = folder / STORE
    try:
        if not path.exists():
            return []
        for one in (path, *(path.with_name(f"{STORE}{end}") for end in ("-wal", "-shm"))):
            if one.exists():
                check_regular(one, root=folder)
        return [_row(one) for one in read_calls(path, trajectory=trajectory)]
    except (InputError, OSError):
        return []


def _row(one: StoredCall) -> dict[str, Any]:
    _, turn, criterion = one.about
    return {
        "turn": turn,
        "criterion": criterion,
        "prompt": one.prompt,
        "question": one.question,
        "labels": dict(one.answer.label_logp),
        "text": one.answer.text,
        "value": one.value,
        "failure": one.failure,
        "by": one.answer.by,
        "cached": one.cached,
        "spent": one.answer.spent._asdict(),
    }
