"""Finds out from a run's folder which recipe made it, with which arguments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.commands.configure import from_json
from handaxe.errors import InputError
from handaxe.recipes.catalogue import load_recipe
from handaxe.recipes.paper import Recipe
from handaxe.training.record.run_record import RunRecord

__all__ = ["Started", "facts", "started"]


class Started(NamedTuple):
    """A run that a recipe made. `command` is the line that was typed, "" when it was started otherwise."""

    recipe: Recipe
    arguments: dict[str, Any]
    command: str


def facts(folder: Path) -> Mapping[str, Any] | None:
    """What recipe.json of a run says of its recipe: name and arguments; None when no recipe made it.

    Raises:
        InputError: there is no run in the folder, or its recipe.json is damaged.
    """
    with RunRecord.open(folder) as record:
        try:
            found = record.about().get("recipe")
        except ValueError as error:
            raise InputError(f"{folder / 'recipe.json'} is damaged: {error}") from error
    return found if isinstance(found, Mapping) and "name" in found and "arguments" in found else None


def started(folder: Path) -> Started:
    """The recipe and arguments of a run.

    Raises:
        InputError: there is no run, or it was not started from a recipe.
        RecipeError: the recipe is gone, or takes other arguments now.
    """
    found = facts(folder)
    if found is None:
        raise InputError(
            f"the run in {folder} was not made by a recipe; go on with it from the script that made it: "
            f"train(..., keep=Keep(out={str(folder)!r}, resume=True))"
        )
    recipe = load_recipe(str(found["name"]))
    return Started(recipe, from_json(recipe, found["arguments"]), str(found.get("command", "")))
