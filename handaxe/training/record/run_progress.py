"""Progress of a run in a folder. A run that ended before its first step leaves nothing to continue."""

from pathlib import Path

from handaxe.core.errors import InputError
from handaxe.models.saved_policy import list_checkpoints
from handaxe.training.record.run_record import RunRecord

__all__ = ["has_progress", "has_stage_progress"]

LOCK = "writer.lock"


def has_progress(folder: Path) -> bool:
    """Return True if a folder holds a recorded step or a checkpoint, of a run or of its stages.

    A damaged record counts as progress, so that no run overwrites it.

    Example:
        has_progress(out) is False after a run that failed in its first step
    """
    if list_checkpoints(folder / "checkpoints"):
        return True
    if has_stage_progress(folder / "stages"):
        return True
    if not RunRecord.exists(folder):
        return False
    try:
        with RunRecord.open(folder) as record:
            return bool(record.steps())
    except InputError:
        return True


def has_stage_progress(stages: Path) -> bool:
    """Return True if a stage in a folder of stages has progress. Files of a stage without a record count."""
    for stage in stages.glob("*/"):
        if (stage / "record.sqlite").exists():
            if has_progress(stage):
                return True
        elif any(file.name != LOCK for file in stage.iterdir()):
            return True
    return False
