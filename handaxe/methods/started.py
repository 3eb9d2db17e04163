"""Finds out from a run's folder which recipe made it, and what was chosen for it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.errors import InputError
from handaxe.methods.chosen import Chosen, choice
from handaxe.methods.ranges import check_setting
from handaxe.training.record.run_record import RunRecord

__all__ = ["Started", "about_recipe", "chosen_in", "facts", "started"]

NAMES = ("base", "world", "engine")


class Started(NamedTuple):
    """A run that a recipe made. `command` is the line that was typed, "" when it was started otherwise."""

    chosen: Chosen
    command: str


def about_recipe(chosen: Chosen, command: str) -> dict[str, Any]:
    """What recipe.json of a run keeps of its recipe; `started` reads it."""
    return {"name": chosen.name, "arguments": chosen.arguments(), "command": command}


def facts(folder: Path) -> Mapping[str, Any] | None:
    """What recipe.json of a run says of its recipe: name and arguments; None when no recipe made it.

    Raises:
        InputError: there is no run in the folder, or its recipe.json is damaged.
    """
    with RunRecord.open(folder) as record:
        found = record.about().get("recipe")
    if found is None:
        return None
    if not (isinstance(found, Mapping) and "name" in found and isinstance(found.get("arguments"), Mapping)):
        raise InputError(
            f"{folder / 'recipe.json'} is damaged: its recipe has no name and arguments; to go on, put the file back "
            "as it was"
        )
    return found


def started(folder: Path, *, changes: Mapping[str, Any] | None = None) -> Started:
    """The recipe of a run, and what was chosen for it.

    Args:
        folder: of the run.
        changes: arguments in the place of those that the run was started with.

    Raises:
        InputError: there is no run, or it was not started from a recipe, or from one of an earlier version.
        RecipeError: the recipe is gone, or takes other arguments now.
    """
    found = facts(folder)
    if found is None:
        raise InputError(
            f"the run in {folder} was not made by a recipe; go on with it from the script that made it: "
            f"train(..., keep=Keep(out={str(folder)!r}, resume=True))"
        )
    saved = {**found["arguments"], **(changes or {})}
    if "world" not in saved or "engine" not in saved:
        raise InputError(
            f"the run in {folder} was made by an earlier version of handaxe, whose recipes had no --world: "
            f"`handaxe show {folder}` shows it, and `handaxe train {found['name']}` starts a new one"
        )
    return Started(_chosen(str(found["name"]), saved), str(found.get("command", "")))


def chosen_in(file: Path) -> Chosen:
    """What the recipe.json of a run says was chosen, so that the same is begun anew.

    Raises:
        InputError: there is no such file, or it is not that of a run that a recipe made.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["recipe"]
        name, saved = str(found["name"]), dict(found["arguments"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is not the recipe.json of a run that a recipe made: {error!r}") from error
    return _chosen(name, saved)


def _chosen(name: str, saved: Mapping[str, Any]) -> Chosen:
    made = choice(name, **{one: str(saved.get(one, "")) for one in NAMES}).read(saved)
    check_setting(made.setting)
    return made
