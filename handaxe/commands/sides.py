"""Side of a comparison: a method with all options, run with several seeds."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from handaxe.commands.configure import option_names, parse_train
from handaxe.commands.jobs import TrainingJob
from handaxe.commands.run_version import run_version
from handaxe.core.errors import InputError
from handaxe.evaluation.figures import RunFigures, run_figures
from handaxe.methods.lookup import check_name
from handaxe.methods.run_spec import RunSpec
from handaxe.training.record.run_record import RunRecord

__all__ = ["Side", "check_method_names", "check_sides", "make_job", "read_run", "side", "split_options"]


@dataclass(frozen=True)
class Side:
    """A spec, and its name in tables."""

    name: str
    spec: RunSpec

    @cached_property
    def version(self) -> str:
        """`run_version` of the spec."""
        return run_version(self.arguments())

    def arguments(self) -> dict[str, Any]:
        """All arguments without the seed, and the name of the method."""
        return {"method": self.spec.name, **self.spec.arguments(), "seed": None}

    def of(self, spec: RunSpec) -> Side:
        """The side of another spec, named as its method."""
        return Side(spec.name, spec)

    def permuted(self) -> Side:
        """The same side with rewards permuted within each group."""
        settings = replace(self.spec.settings, permute_rewards=True)
        return Side(f"{self.name}, permuted", replace(self.spec, settings=settings))

    def seeded(self, seed: int) -> RunSpec:
        """The spec with a seed."""
        return replace(self.spec, settings=replace(self.spec.settings, seed=seed))


def split_options(words: Sequence[str], kind: type) -> tuple[list[str], list[str]]:
    """Split a command line into the options of the command, and the options of `train` for every run.

    Args:
        words: names first, then options.
        kind: dataclass of the command's options.

    Returns:
        The names with the options of `kind`, and all other options.

    Raises:
        InputError: --seed is among the options; the command chooses the seeds.

    Example:
        split_options(["grpo", "dapo", "--steps", "5", "--seeds", "2"], CompareOptions)
        -> (["grpo", "dapo", "--seeds", "2"], ["--steps", "5"])
    """
    known = {*option_names(kind), "help"}
    own, other = list[str](), list[str]()
    chosen = own
    for word in words:
        if word.startswith("--") or word == "-h":
            name = "help" if word == "-h" else word[2:].partition("=")[0].replace("-", "_")
            chosen = own if {name, name.removeprefix("no_")} & known else other
        chosen.append(word)
    if "seed" in _option_names(other):
        raise InputError("--seed does not fit: the runs have the seeds from --first-seed on; --seeds is their number")
    return own, other


def check_method_names(sides: Sequence[str]) -> None:
    """Raise InputError if a side names no method. Imports no method, and so no torch."""
    for words in sides:
        name = next(iter(shlex.split(words)), "")
        if not name:
            raise InputError("a side of a comparison is a method and its options, such as 'otc --smooth 2'")
        check_name("methods", name)


def check_sides(sides: Sequence[str], options: Sequence[str] = ()) -> None:
    """Raise InputError, or SystemExit after a parse error, as `side` for each side. Imports no engine, and so no torch.

    Args:
        sides: as `words` of `side`.
        options: further options of `train`.
    """
    check_method_names(sides)
    for words in sides:
        name, *rest = shlex.split(words)
        also: dict[str, type] = {}
        parse_train(name, [*rest, *options], prog=f"handaxe train {name}", also=also, import_engine=False)


def side(words: str, options: Sequence[str] = (), *, like: Side | None = None) -> Side:
    """Parse a side.

    Args:
        words: a method and its options, as after `handaxe train`.
        options: further options of `train`.
        like: supplies world, engine and settings for a side of another method, unless the words set them.

    Raises:
        InputError: the name of a method is missing, or no method has the name.
    """
    check_method_names([words])
    name, *rest = shlex.split(words)
    spec, _ = parse_train(name, [*rest, *options], prog=f"handaxe train {name}", also={})
    if like is not None and like.spec.name != name:
        spec = _with_settings_of(spec, like.spec, _option_names(rest))
    return Side(words, spec)


def _with_settings_of(spec: RunSpec, other: RunSpec, explicit: set[str]) -> RunSpec:
    """The spec with world, engine and settings of the other, except the explicit options."""
    own = {one.name: getattr(spec.settings, one.name) for one in fields(spec.settings) if one.name in explicit}
    parts = [part for part in ("world", "engine") if part not in explicit]
    template = replace(spec.template, **{part: getattr(other.template, part) for part in parts})
    options = {**spec.options, **{part: other.options[part] for part in parts}}
    return replace(spec, template=template, settings=replace(other.settings, **own), options=options)


def _option_names(words: Sequence[str]) -> set[str]:
    """Names of settings and parts set by words: "--max-turns 3 --world.size=5" -> max_turns, world."""
    names = (word[2:].removeprefix("no-").partition("=")[0].partition(".")[0] for word in words if word[:2] == "--")
    return {name.replace("-", "_") for name in names}


def make_job(one: Side, seed: int, runs: Path) -> TrainingJob:
    """Make the job of a side with a seed.

    The folder's name has a digest of all arguments and of the code. Claims share a run of equal arguments, and no run
    of other code or other files is reused.
    """
    spec = one.seeded(seed)
    about = {"recipe": {"name": spec.name, "arguments": spec.arguments()}}
    digest = hashlib.sha256(json.dumps([about, one.version], sort_keys=True).encode()).hexdigest()[:12]
    folder = runs / f"{spec.name.replace(':', '.')}-{digest}"
    file = runs / f"{folder.name}.json"
    runs.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return TrainingJob(f"{one.name}, seed {seed}", ("train", str(file)), folder, spec.settings.steps)


def read_run(folder: Path) -> RunFigures:
    """Read the metrics and evaluations of a run."""
    with RunRecord.open(folder) as record:
        return run_figures(record)
