"""Writes docs/lab.md, which rewards fall to which attack, for `handaxe lab --page`, or says whether it is stale."""

from collections.abc import Sequence
from pathlib import Path

import handaxe
from handaxe import judges, rewards
from handaxe.commands.output import console, note
from handaxe.core.errors import HandaxeError, InputError
from handaxe.evaluation.lab import Bench
from handaxe.evaluation.lab_cases import LAB_CASES, LabCase
from handaxe.evaluation.lab_words import EXPLAINED, NOT_TRIED
from handaxe.methods import reward_trials as tried
from handaxe.view.lab_page import LabResults, lab_tables, stale

__all__ = ["MARK", "write_page"]

MARK = "<!-- what follows is written by `handaxe lab --page` -->\n"
"""Above it, a page is written by hand."""


def write_page(root: Path | None, *, check: bool) -> int:
    """Measure everything, and write or check the page.

    Args:
        root: the repository; None: the one that this package lies in.
        check: write nothing. What asks a model is not asked, and its lines are taken as they stand.

    Returns:
        The exit code.

    Raises:
        InputError: there is no checkout, or no page with the mark; a reward or judge is neither tried nor left out.
        HandaxeError: the page is stale.
    """
    root = root or Path(handaxe.__file__).parents[1]
    file = root / "docs" / "lab.md"
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    if MARK not in old:
        raise InputError(f"{file} is not there, or lacks the line {MARK.strip()!r}, below which tables are written")
    by_hand = old[: old.index(MARK) + len(MARK)]
    new = f"{by_hand}\n{lab_tables(_found(models=not check))}"
    if not check:
        file.write_text(new, encoding="utf-8")
        note(console(), "written", str(file))
        return 0
    unmeasured = [*(one.said for one in LAB_CASES if one.model), *tried.ASKS_MODEL]
    if wrong := stale(old, new, unmeasured=unmeasured):
        raise HandaxeError(f"{file} is stale; `handaxe lab --page` writes it anew: {wrong}")
    note(console(), "checked", f"{file} is up to date; {', '.join(unmeasured)} not asked")
    return 0


def _found(*, models: bool) -> LabResults:
    stage, cases = Bench(), [one for one in _complete(LAB_CASES) if models or not one.model]
    trials = []
    for case in cases:
        world = case.world()
        trials.append(stage.attack(case.make(world), world, key=case.key, said=case.said, seconds=None))
    recipes, plain = tried.try_all(stage, models=models, seconds=None)
    return LabResults(
        trials, recipes, plain=plain, left_out={**NOT_TRIED, **tried.UNTRIED_RECIPES}, explained=EXPLAINED
    )


def _complete(cases: Sequence[LabCase]) -> Sequence[LabCase]:
    """The cases, when every file of rewards/ and judges/ is tried or left out with a reason.

    Raises:
        InputError: one is not.
    """
    for room in (rewards, judges):
        files = {file.stem for file in Path(room.__path__[0]).glob("*.py")} - {"__init__"}
        if missing := sorted(files - {case.mechanism for case in cases} - set(NOT_TRIED)):
            raise InputError(
                f"evaluation/lab_cases.py tries {', '.join(missing)} nowhere: add a LabCase, or say why not"
            )
    return cases
