"""`handaxe lab`: score recorded rollouts again, compare rewards, and attack rewards, before a run trains on them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from handaxe.commands.output import check_writable, command_line, console, write_json
from handaxe.commands.picture import picture
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.methods.catalog import find_method
from handaxe.methods.lookup import find
from handaxe.training.record.run_record import RunRecord

if TYPE_CHECKING:
    import handaxe.commands.lab_page as lab_page
    import handaxe.commands.lab_trials as lab_trials
else:
    lab_trials = DeferredModule("handaxe.commands.lab_trials")
    lab_page = DeferredModule("handaxe.commands.lab_page")

__all__ = ["LabOptions", "main"]

FAULT = 1


@dataclass(frozen=True)
class LabOptions:
    """Test rewards before training; no policy generates tokens. The exit code is 1 if a reward differs from the record,
    is not deterministic, fails, or (with --attack) falls.

        handaxe lab RUN                             score rollouts again by the run's reward; channels, correlations
        handaxe lab RUN --rewards otc token_f1      further rewards of the same rollouts, and their agreement
        handaxe lab --attack otc toolrl             attack rewards of methods, each in its world
        handaxe lab --attack my_file:mine --world arithmetic
        handaxe lab --page                          write docs/lab.md: attack everything in the library

    Args:
        run: folder of a run.
        rewards: further rewards: names of rewards, judges or methods, or MODULE:ATTRIBUTE.
        attack: rewards to attack, named in the same way.
        world: world of attacked rewards and judges; for methods, instead of their own world.
        scenes: tasks of the attacks.
        groups: recorded groups, the first ones, that are scored again for determinism.
        seconds: wall time of one call, after which a reward counts as hanging. 0 calls it in the main thread without a
            limit, for rewards that limit themselves by signals (math_match).
        plot: write a plot of the channels to this file.
        svg: write the terminal output to this file as a picture.
        json: write the result to this file.
        page: write docs/lab.md.
        check: with --page, write nothing and fail if the page is stale; rewards that call a model are left out.
        root: with --page, the checkout; by default the one that contains this package.
    """

    run: tyro.conf.Positional[Path | None] = None
    rewards: tuple[str, ...] = ()
    attack: tuple[str, ...] = ()
    world: str = ""
    scenes: int = 3
    groups: int = 50
    seconds: float = 20.0
    plot: Path | None = None
    svg: Path | None = None
    json: Path | None = None
    page: bool = False
    check: bool = False
    root: Path | None = None


def main(arguments: list[str]) -> int:
    """Run the command; return the exit code."""
    options = tyro.cli(LabOptions, args=arguments, prog="handaxe lab", config=(tyro.conf.FlagCreatePairsOff,))
    for file in (options.json, options.svg, options.plot):
        check_writable(file)
    if options.page:
        return lab_page.write_page(options.root, check=options.check)
    if options.run is None and not options.attack:
        raise InputError("name the folder of a run, or rewards to --attack; `handaxe lab --help` has examples")
    if options.scenes < 1 or options.groups < 1 or options.seconds < 0:
        raise InputError("give --scenes and --groups from 1, and --seconds from 0")
    _check_names(options)
    with picture(console(), options.svg, title=command_line(["lab", *arguments])) as terminal:
        body: dict[str, Any] = {}
        fault = False
        if options.run is not None:
            body, fault = lab_trials.rescore_run(options.run, options, terminal)
        if options.attack:
            body["attacks"], fell = lab_trials.attack_rewards(options, terminal)
            fault = fault or fell
    write_json(options.json, body)
    return FAULT if fault else 0


def _check_names(options: LabOptions) -> None:
    """Raise InputError for a missing run, an unknown world, or a reward that needs a world and has none."""
    if options.run is not None:
        RunRecord.open(options.run).close()
    if options.world:
        find("worlds", options.world)
    if not options.world and (lacking := [name for name in options.attack if find_method(name) is None]):
        raise InputError(f"{lacking[0]} is no method: choose a world with --world NAME, such as arithmetic")
