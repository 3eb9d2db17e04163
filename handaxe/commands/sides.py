"""One side of a comparison: a recipe with all that was chosen for it, run with several seeds."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import handaxe
from handaxe.commands.configure import parse_train
from handaxe.commands.jobs import TrainingJob
from handaxe.core.errors import InputError
from handaxe.evaluation.figures import RunFigures, evaluations
from handaxe.methods.run_spec import RunSpec
from handaxe.training.record.run_record import RunRecord

__all__ = ["Side", "job_of", "read_side", "side"]

SHOWN_ONLY = ("commands", "testing", "view")
"""Folders of the package whose code changes no run."""


@dataclass(frozen=True)
class Side:
    """What is run, and what people read for it."""

    name: str
    chosen: RunSpec

    @property
    def version(self) -> str:
        """Of the package, with a digest of the code that runs depend on."""
        return f"{handaxe.__version__}+{_code()}"

    def arguments(self) -> dict[str, Any]:
        """Everything chosen but the seed, and the recipe's name."""
        return {"method": self.chosen.name, **self.chosen.arguments(), "seed": None}

    def like(self, chosen: RunSpec) -> Side:
        """Another choice, by its recipe's name."""
        return Side(chosen.name, chosen)

    def permuted(self) -> Side:
        """The same with scores dealt out anew among siblings."""
        settings = replace(self.chosen.settings, permute_rewards=True)
        return Side(f"{self.name}, permuted", replace(self.chosen, settings=settings))

    def seeded(self, seed: int) -> RunSpec:
        """What was chosen, with this seed."""
        return replace(self.chosen, settings=replace(self.chosen.settings, seed=seed))


def side(words: str, options: str = "", *, setting_of: Side | None = None) -> Side:
    """The side that a command line names.

    Args:
        words: a recipe and its options, as after `handaxe train`.
        options: further options.
        setting_of: where the recipe is another one than that side's, its world, engine and settings are taken over, as
            far as the words do not choose them.

    Raises:
        InputError: no recipe is named, or there is none of that name.
    """
    name, *rest = shlex.split(words) or [""]
    if not name:
        raise InputError("a side of a comparison is a recipe and its options, such as 'otc --smooth 2'")
    chosen, _ = parse_train(name, [*rest, *shlex.split(options)], prog=f"handaxe train {name}", also={})
    if setting_of is not None and setting_of.chosen.name != name:
        chosen = _taken_over(chosen, setting_of.chosen, _flags(rest))
    return Side(words, chosen)


def _taken_over(chosen: RunSpec, other: RunSpec, said: set[str]) -> RunSpec:
    """With the other one's world, engine and settings but for those that were said."""
    own = {one.name: getattr(chosen.settings, one.name) for one in fields(chosen.settings) if one.name in said}
    parts = [part for part in ("world", "engine") if part not in said]
    template = replace(chosen.template, **{part: getattr(other.template, part) for part in parts})
    options = {**chosen.options, **{part: other.options[part] for part in parts}}
    return replace(chosen, template=template, settings=replace(other.settings, **own), options=options)


def _flags(words: Sequence[str]) -> set[str]:
    """The names of options among words, as the settings have them: those of "--max-turns 3 --world.size=5" are
    max_turns and world."""
    names = (word[2:].removeprefix("no-").partition("=")[0].partition(".")[0] for word in words if word[:2] == "--")
    return {name.replace("-", "_") for name in names}


def job_of(one: Side, seed: int, runs: Path) -> TrainingJob:
    """The run of a side with a seed. Its folder is named by all that was chosen and by the code, so that a run which
    several claims need is done once, and none is taken for another."""
    chosen = one.seeded(seed)
    about = {"recipe": {"name": chosen.name, "arguments": chosen.arguments()}}
    digest = hashlib.sha256(json.dumps([about, one.version], sort_keys=True).encode()).hexdigest()[:12]
    folder = runs / f"{chosen.name.replace(':', '.')}-{digest}"
    file = runs / f"{folder.name}.json"
    runs.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return TrainingJob(f"{one.name}, seed {seed}", ("train", str(file)), folder, chosen.settings.steps)


def read_side(folder: Path) -> RunFigures:
    """The figures of a run."""
    with RunRecord.open(folder) as record:
        return RunFigures(record.metrics(), evaluations(record))


@cache
def _code() -> str:
    """A digest of the code that runs depend on."""
    root, found = Path(handaxe.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root)
        if inside.parts[0] not in SHOWN_ONLY:
            found.update(f"{inside}\0".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()[:8]
