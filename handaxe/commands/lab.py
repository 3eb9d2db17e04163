"""`handaxe lab`: rewards before they are trusted. Recorded attempts scored again, rewards compared and attacked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from handaxe.commands.lab_page import write_page
from handaxe.commands.output import check_writable, command_line, console, note, write_json
from handaxe.commands.picture import picture
from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.evaluation.agreement import Agreement, Scored, agreement, channels_of, spread
from handaxe.evaluation.lab import AttackTrial, Bench
from handaxe.evaluation.rescoring import Rescored, determinism, differences, rescore, scored_groups
from handaxe.methods.catalog import find_method
from handaxe.methods.lookup import find
from handaxe.methods.reward_lookup import reward_named, reward_of
from handaxe.methods.reward_trials import try_recipe
from handaxe.methods.run_folder import recorded_method, recorded_run
from handaxe.methods.run_spec import run_template
from handaxe.training.record.run_record import RunRecord
from handaxe.view.escape import plain
from handaxe.view.lab_tables import agreement_table, attack_table, determinism_table, spread_table
from handaxe.view.plots import plot_channels

__all__ = ["LabOptions", "main"]

RECORDED = "recorded"
OWN = "its own"
WRONG = 1


@dataclass(frozen=True)
class LabOptions:
    """Try rewards before they are trusted; no model is asked for a token. Exit code 1 when a reward said something else
    than was recorded, says two things of one group, fails, or (with --attack) falls.

        handaxe lab RUN                             its reward asked again: channels, what they go along with
        handaxe lab RUN --rewards otc token_f1      other rewards of the same attempts, and how far they agree
        handaxe lab --attack otc toolrl             rewards of recipes, attacked in their worlds
        handaxe lab --attack my_file:mine --world sums
        handaxe lab --page                          docs/lab.md: everything in the library, attacked

    Args:
        run: folder of a run.
        rewards: by which its attempts are scored too: files of rewards/ or judges/, recipes, MODULE:ATTRIBUTE.
        attack: rewards to be attacked, named in the same way.
        world: where those are attacked that are no recipes, and in the place of the recipes' own.
        scenes: tasks at which they are attacked.
        groups: recorded groups that are asked about again for --seconds and determinism, the first ones.
        seconds: wall time for one question, after which a reward hangs; 0 asks in the main thread and waits for ever,
            which is what a reward needs that watches its own time by signals (math_match).
        plot: write a picture of the channels to this file.
        svg: write what is shown here to this file, as a picture.
        json: write the result to this file.
        page: write docs/lab.md.
        check: with --page, write nothing and fail when it is stale; what asks a model is not asked.
        root: with --page, the repository; the one that this package lies in unless told otherwise.
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
    """Try; returns the exit code."""
    options = tyro.cli(LabOptions, args=arguments, prog="handaxe lab", config=(tyro.conf.FlagCreatePairsOff,))
    for file in (options.json, options.svg, options.plot):
        check_writable(file)
    if options.page:
        return write_page(options.root, check=options.check)
    if options.run is None and not options.attack:
        raise InputError("name the folder of a run, or rewards to --attack; `handaxe lab --help` has examples")
    if options.scenes < 1 or options.groups < 1 or options.seconds < 0:
        raise InputError("give --scenes and --groups from 1, and --seconds from 0")
    with picture(console(), options.svg, title=command_line(["lab", *arguments])) as terminal:
        body: dict[str, Any] = {}
        wrong = False
        if options.run is not None:
            body, wrong = _rescored(options.run, options, terminal)
        if options.attack:
            trials = _attacked(options)
            terminal.print(attack_table(trials))
            for line in dict.fromkeys(
                f"{one.said}: {tried.failed}" for one in trials for tried in one.tried if tried.failed
            ):
                terminal.print(plain(line, style="red"), soft_wrap=True)
            body["attacks"] = [_told(one) for one in trials]
            wrong = wrong or any(one.falls or any(tried.failed for tried in one.tried) for one in trials)
    write_json(options.json, body)
    return WRONG if wrong else 0


def _rescored(run: Path, options: LabOptions, terminal: Console) -> tuple[dict[str, Any], bool]:
    """Ask rewards about the attempts of a run."""
    with RunRecord.open(run) as record:
        recorded = scored_groups(record.groups())
    seconds = options.seconds or None
    attempts = [group for group, _ in recorded]
    note(terminal, "lab", f"{sum(map(len, attempts))} scored attempts in {len(attempts)} groups of {run}")
    rewards = _rewards(run, options.rewards)
    again = {name: rescore(reward, attempts, seconds=seconds) for name, reward in rewards.items()}
    fresh = _rewards(run, options.rewards)  # those above have seen everything
    asked = {name: determinism(one, attempts[: options.groups], seconds=seconds) for name, one in fresh.items()}
    changed = _compare_own(recorded, again, terminal)
    spreads = {RECORDED: spread(recorded)}
    spreads |= {name: spread(one.scored) for name, one in again.items() if name != OWN and not _silent(one)}
    for name, channels in spreads.items():
        terminal.print(spread_table(channels, title=name))
    agreements, pairs = _agreements(recorded, {name: one for name, one in again.items() if name in spreads})
    if agreements:
        terminal.print(agreement_table(agreements, against="what was recorded"))
    if pairs:
        terminal.print(agreement_table(pairs, against="each other"))
    if asked:
        slowest = {name: max(one.seconds) for name, one in again.items()}
        terminal.print(determinism_table({name: (one, slowest[name]) for name, one in asked.items()}))
    for name, one in again.items():
        for line in one.failed[:3]:
            terminal.print(plain(f"{name}: {line}", style="red"), soft_wrap=True)
    if options.plot:
        values = {name: channels_of(one.scored) for name, one in again.items() if name in spreads}
        plot_channels({RECORDED: channels_of(recorded), **values}, options.plot)
        note(terminal, "plot", str(options.plot))
    body = {
        "attempts": sum(map(len, attempts)),
        "changed": changed,
        "channels": {name: [one._asdict() for one in channels] for name, channels in spreads.items()},
        "agreement": {name: one._asdict() for name, one in agreements.items()},
        "pairs": {name: one._asdict() for name, one in pairs.items()},
        "determinism": {name: one._asdict() for name, one in asked.items()},
        "seconds": {name: max(one.seconds) for name, one in again.items()},
        "failed": {name: one.failed for name, one in again.items()},
    }
    unsteady = any(one.twice or one.reordered or one.failed for one in asked.values())
    return body, bool(changed) or unsteady or any(one.failed for one in again.values())


def _rewards(run: Path, names: Sequence[str]) -> dict[str, Reward]:
    """The reward of the run, where a recipe made it, and those that were named; made anew."""
    own = None if recorded_method(run) is None else recorded_run(run).spec
    if own is None and not names:
        return {}
    mine = {} if own is None else {OWN: reward_of(own)}
    return mine | {name: reward_named(name, like=own) for name in names}


def _compare_own(recorded: Sequence[Scored], again: Mapping[str, Rescored], terminal: Console) -> int | None:
    """How many attempts the run's own reward says something else of than was recorded."""
    if OWN not in again:
        note(
            terminal,
            "record",
            "a script made this run, and its record does not hold the reward: name it with --rewards",
        )
        return None
    changed = differences(recorded, again[OWN].scored)
    total = sum(len(group) for group, _ in recorded)
    note(terminal, "record", f"its own reward, asked again, says the same of {total - changed} of {total} attempts")
    return changed


def _agreements(
    recorded: Sequence[Scored], again: Mapping[str, Rescored]
) -> tuple[dict[str, Agreement], dict[str, Agreement]]:
    """How far each reward agrees with what was recorded, and each with each other."""

    def flat(scored: Sequence[Scored]) -> list[float]:
        return [float(value) for own in channels_of(scored)["reward"] for value in own]

    said, values = flat(recorded), {name: flat(one.scored) for name, one in again.items()}
    pairs = {f"{a} and {b}": agreement(values[a], values[b]) for a, b in combinations(values, 2)}
    return {name: agreement(said, own) for name, own in values.items()}, pairs


def _silent(one: Rescored) -> bool:
    return len(one.failed) == len(one.scored)


def _attacked(options: LabOptions) -> list[AttackTrial]:
    stage, seconds = Bench(count=options.scenes), options.seconds or None
    trials = []
    for name in options.attack:
        if find_method(name) is not None:
            trials.append(try_recipe(stage, run_template(name, world=options.world).default(), seconds=seconds))
            continue
        if not options.world:
            raise InputError(f"{name} is no recipe: say with --world NAME where it is to be attacked, such as sums")
        world, reward = find("worlds", options.world)(), reward_named(name)
        trials.append(stage.attack(reward, world, key=options.world, said=name, seconds=seconds))
    return trials


def _told(trial: AttackTrial) -> dict[str, Any]:
    return {
        "reward": trial.said,
        "world": trial.world,
        "right": trial.right,
        "falls": [one.attack for one in trial.falls],
        "attacks": [one._asdict() for one in trial.tried],
    }
