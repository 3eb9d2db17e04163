"""Reads the specification of a run from a folder: method, base, world, engine, settings and options."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, MethodError
from handaxe.methods.renames import METHODS, renamed_arguments
from handaxe.methods.run_sources import find_files, find_modules, present_path
from handaxe.methods.run_spec import NAMED, RunSpec, run_template
from handaxe.methods.settings_checks import check_settings
from handaxe.training.record.run_record import RunRecord

__all__ = ["RecordedRun", "method_record", "recorded_method", "recorded_run", "recorded_sources"]


class RecordedRun(NamedTuple):
    """The spec of a recorded run. `command` is the command line, "" for a run started by a script."""

    spec: RunSpec
    command: str


def method_record(spec: RunSpec, command: str) -> dict[str, Any]:
    """The method entry of recipe.json, read by `recorded_run`."""
    return {"name": spec.name, "arguments": spec.arguments(), "command": command}


def recorded_method(folder: Path) -> Mapping[str, Any] | None:
    """Name and arguments of the method in recipe.json of a run; None if a script trained without a method.

    Raises:
        InputError: the folder holds no run, or its recipe.json is damaged.
    """
    with RunRecord.open(folder) as record:
        found = record.about().get("recipe")
    if found is None:
        return None
    if not (isinstance(found, Mapping) and "name" in found and isinstance(found.get("arguments"), Mapping)):
        raise InputError(
            f"{folder / 'recipe.json'} is damaged: its recipe has no name and arguments; put the file back to go on"
        )
    return found


def recorded_run(folder: Path, *, changes: Mapping[str, Any] | None = None) -> RecordedRun:
    """The spec of a recorded run, from any working folder: files and modules are found by the kept sources.

    Args:
        folder: of the run.
        changes: arguments that replace those of the run.

    Raises:
        InputError: the folder holds no run, or a script or version 0.0 of handaxe made it; a file or module of the run
            is missing, or a file has changed (see methods.run_sources).
        MethodError: the method does not exist, or takes other arguments in this version.
    """
    found = recorded_method(folder)
    if found is None:
        raise InputError(
            f"the run in {folder} was not made by a method of the command line; resume it from its script: "
            f"train(..., run=RunConfig(out={str(folder)!r}, resume=True))"
        )
    saved = {**found["arguments"], **(changes or {})}
    name = str(found["name"])
    if "world" not in saved or "engine" not in saved:
        raise _too_old(folder, name, "its method had no --world")
    try:
        return RecordedRun(_with_sources(name, saved, _sources(found), folder), str(found.get("command", "")))
    except MethodError as error:
        raise _too_old(folder, name, str(error)) from error


def recorded_sources(folder: Path) -> Mapping[str, Any]:
    """Sources of a recorded run; {} for a run of a script or of an earlier version. See methods.run_sources."""
    return _sources(recorded_method(folder) or {})


def _sources(recipe: Mapping[str, Any]) -> Mapping[str, Any]:
    found = recipe.get("sources", {})
    return found if isinstance(found, Mapping) else {}


def _with_sources(name: str, saved: Mapping[str, Any], sources: Mapping[str, Any], folder: Path) -> RunSpec:
    """The spec of saved arguments, with present paths of the run's files, modules and models."""
    find_modules(sources, {"method": name, **saved}, folder)
    spec = _spec(name, saved)
    files = find_files(sources, folder)
    for option, value in spec.options["world"].items():
        if option not in files and isinstance(value, str) and (found := present_path(value, sources)) != value:
            files[option] = found
    settings = replace(spec.settings, model=present_path(spec.settings.model, sources))
    return replace(spec, settings=settings, files=files)


def _spec(name: str, saved: Mapping[str, Any]) -> RunSpec:
    arguments = renamed_arguments(saved, method=name)
    base, world, engine, curriculum = (str(arguments.get(part, "")) for part in NAMED)
    template = run_template(METHODS.get(name, name), base=base, world=world, engine=engine, curriculum=curriculum)
    made = template.read(arguments)
    check_settings(made.settings)
    return made


def _too_old(folder: Path, name: str, why: str) -> MethodError:
    return MethodError(
        f"the run in {folder} cannot go on in this version of handaxe: {why}. `handaxe show`, `view`, `report` and "
        f"`trajectories` read it; `handaxe train {METHODS.get(name, name)}` starts a new run"
    )
