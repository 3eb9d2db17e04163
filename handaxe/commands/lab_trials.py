"""Rescoring of a run's rollouts, and attacks on rewards, for `handaxe lab`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from handaxe.commands.output import note
from handaxe.core.protocols import Reward
from handaxe.evaluation.agreement import Agreement, GroupScores, agreement, summarize_channels, values_by_channel
from handaxe.evaluation.attack_trials import AttackBench, AttackTrial
from handaxe.evaluation.rescoring import Rescoring, count_differences, determinism, rescore, scored_groups
from handaxe.methods.catalog import find_method
from handaxe.methods.lookup import find
from handaxe.methods.reward_lookup import find_reward, training_reward
from handaxe.methods.reward_trials import attack_method
from handaxe.methods.run_folder import recorded_method, recorded_run
from handaxe.methods.run_spec import run_template
from handaxe.training.record.run_record import RunRecord
from handaxe.view.escape_markup import escaped_text
from handaxe.view.lab_tables import agreement_table, attack_table, channel_table, determinism_table
from handaxe.view.plots import plot_channels

if TYPE_CHECKING:
    from handaxe.commands.lab import LabOptions

__all__ = ["attack_rewards", "rescore_run"]

RECORDED = "recorded"
OWN = "its own"


def attack_rewards(options: LabOptions, terminal: Console) -> tuple[list[dict[str, Any]], bool]:
    """Attack the rewards of --attack; returns the JSON of the trials, and True if a reward falls or fails."""
    trials = _attack(options)
    terminal.print(attack_table(trials))
    for line in dict.fromkeys(f"{one.name}: {found.failed}" for one in trials for found in one.results if found.failed):
        terminal.print(escaped_text(line, style="red"), soft_wrap=True)
    fault = any(one.falls or any(found.failed for found in one.results) for one in trials)
    return [_as_json(one) for one in trials], fault


def rescore_run(run: Path, options: LabOptions, terminal: Console) -> tuple[dict[str, Any], bool]:
    """Score the rollouts of a run again; returns the JSON, and True if a reward differs, is random or fails."""
    with RunRecord.open(run) as record:
        recorded = scored_groups(record.groups())
    seconds = options.seconds or None
    groups = [group for group, _ in recorded]
    note(terminal, "lab", f"{sum(map(len, groups))} scored rollouts in {len(groups)} groups of {run}")
    rewards = _rewards(run, options.rewards)
    again = {name: rescore(reward, groups, seconds=seconds) for name, reward in rewards.items()}
    fresh = _rewards(run, options.rewards)  # the state of the first ones has advanced
    repeated = {name: determinism(one, groups[: options.groups], seconds=seconds) for name, one in fresh.items()}
    changed = _compare_own(recorded, again, terminal)
    channels = {RECORDED: summarize_channels(recorded)}
    channels |= {name: summarize_channels(one.scored) for name, one in again.items() if name != OWN and not _empty(one)}
    for name, summaries in channels.items():
        terminal.print(channel_table(summaries, title=name))
    agreements, pairs = _agreements(recorded, {name: one for name, one in again.items() if name in channels})
    if agreements:
        terminal.print(agreement_table(agreements, against="the record"))
    if pairs:
        terminal.print(agreement_table(pairs, against="each other"))
    if repeated:
        slowest = {name: max(one.seconds) for name, one in again.items()}
        terminal.print(determinism_table({name: (one, slowest[name]) for name, one in repeated.items()}))
    for name, one in again.items():
        for line in one.failed[:3]:
            terminal.print(escaped_text(f"{name}: {line}", style="red"), soft_wrap=True)
    if options.plot:
        values = {name: values_by_channel(one.scored) for name, one in again.items() if name in channels}
        plot_channels({RECORDED: values_by_channel(recorded), **values}, options.plot)
        note(terminal, "plot", str(options.plot))
    body = {
        "rollouts": sum(map(len, groups)),
        "changed": changed,
        "channels": {name: [one._asdict() for one in summaries] for name, summaries in channels.items()},
        "agreement": {name: one._asdict() for name, one in agreements.items()},
        "pairs": {name: one._asdict() for name, one in pairs.items()},
        "determinism": {name: one._asdict() for name, one in repeated.items()},
        "seconds": {name: max(one.seconds) for name, one in again.items()},
        "failed": {name: one.failed for name, one in again.items()},
    }
    random = any(one.repeated or one.reordered or one.failed for one in repeated.values())
    return body, bool(changed) or random or any(one.failed for one in again.values())


def _rewards(run: Path, names: Sequence[str]) -> dict[str, Reward]:
    """New instances of the run's reward, if a method made the run, and of the named rewards."""
    own = None if recorded_method(run) is None else recorded_run(run).spec
    if own is None and not names:
        return {}
    mine = {} if own is None else {OWN: training_reward(own, run=run)}
    return mine | {name: find_reward(name, like=own) for name in names}


def _compare_own(recorded: Sequence[GroupScores], again: Mapping[str, Rescoring], terminal: Console) -> int | None:
    """Number of rollouts whose score by the run's reward differs from the record; None without a recorded method."""
    if OWN not in again:
        note(terminal, "record", "a script made this run, and its record holds no reward: name it with --rewards")
        return None
    changed = count_differences(recorded, again[OWN].scored)
    total = sum(len(group) for group, _ in recorded)
    note(terminal, "record", f"the run's reward repeats the recorded score of {total - changed} of {total} rollouts")
    return changed


def _agreements(
    recorded: Sequence[GroupScores], again: Mapping[str, Rescoring]
) -> tuple[dict[str, Agreement], dict[str, Agreement]]:
    """Agreement of each reward with the record, and of each pair of rewards."""

    def flat(scored: Sequence[GroupScores]) -> list[float]:
        return [float(value) for own in values_by_channel(scored)["reward"] for value in own]

    of_record, values = flat(recorded), {name: flat(one.scored) for name, one in again.items()}
    pairs = {f"{a} and {b}": agreement(values[a], values[b]) for a, b in combinations(values, 2)}
    return {name: agreement(of_record, own) for name, own in values.items()}, pairs


def _empty(one: Rescoring) -> bool:
    return len(one.failed) == len(one.scored)


def _attack(options: LabOptions) -> list[AttackTrial]:
    bench, seconds = AttackBench(count=options.scenes), options.seconds or None
    trials = []
    for name in options.attack:
        if find_method(name) is not None:
            trials.append(attack_method(bench, run_template(name, world=options.world).default(), seconds=seconds))
            continue
        world, reward = find("worlds", options.world)(), find_reward(name)
        trials.append(bench.attack(reward, world, key=options.world, name=name, seconds=seconds))
    return trials


def _as_json(trial: AttackTrial) -> dict[str, Any]:
    return {
        "reward": trial.name,
        "world": trial.world,
        "measures_correctness": trial.measures_correctness,
        "falls": [one.attack for one in trial.falls],
        "attacks": [one._asdict() for one in trial.results],
    }
