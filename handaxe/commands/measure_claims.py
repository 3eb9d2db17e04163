"""Runs of a method and of the baselines of its claims, and the decision of the claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from handaxe.commands.claim_sides import claim_sides
from handaxe.commands.jobs import TrainingJob, finished, run_jobs
from handaxe.commands.sides import Side, make_job, read_run
from handaxe.core.errors import InputError
from handaxe.evaluation.acts import Activation, SeenAct, require_acts
from handaxe.evaluation.claim_figures import measure_claim
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.decide import control_pairs
from handaxe.evaluation.figures import TRAINING, RunFigures
from handaxe.evaluation.replication import Curve, DecidedClaim, Replication, mean_curve
from handaxe.methods.activation import measure_activation, seen_acts
from handaxe.methods.fingerprint import Fingerprinter
from handaxe.training.record.run_record import RunRecord

__all__ = ["ClaimRuns", "plan_claims"]

CURVES = ("training/reward", "training/calls")
LOCAL = "local"
"""Engine whose weights an activation reads."""
EARNED = "training/reward/all"
"""Reward with turn rewards; `training/reward` is the reward of outcomes alone."""


class ClaimRuns(NamedTuple):
    """Runs that decide the claims of a method.

    ours       side of the method;  baselines   claim -> side of its baseline, for claims with one that runs
    jobs       (name of a side, seed) -> run;  controls   runs of the method with permuted rewards, of the first seeds
    """

    ours: Side
    baselines: dict[Claim, Side]
    seeds: tuple[int, ...]
    jobs: dict[tuple[str, int], TrainingJob]
    controls: tuple[TrainingJob, ...]

    @property
    def sides(self) -> dict[str, Side]:
        """Name -> side."""
        return {one.name: one for one in (self.ours, *self.baselines.values())}

    def missing(self) -> list[TrainingJob]:
        """Runs that are not finished."""
        return [job for job in (*self.jobs.values(), *self.controls) if not finished(job)]

    def train(self, *, at_once: int, console: Console, title: str, until: float | None = None) -> bool:
        """Run the missing runs; see `run_jobs`."""
        return run_jobs(
            [*self.jobs.values(), *self.controls], at_once=at_once, console=console, title=title, until=until
        )

    def activation(self) -> Activation | None:
        """Differences of the method from its base in a run of the first seed; None with another engine than local.

        Raises:
            HandaxeError: the run fails.
        """
        spec = self.ours.seeded(self.seeds[0])
        local = spec.template.engine.name == LOCAL and spec.template.base is not None
        return measure_activation(spec, steps=spec.settings.steps) if local and spec.settings.steps else None

    def decide(
        self, name: str, command: str, fingerprinter: Fingerprinter, activation: Activation | None
    ) -> Replication:
        """Decide every claim from finished runs.

        Args:
            name: of the method.
            command: stored with the result.
            fingerprinter: of the sides' behaviour.
            activation: of `activation`.

        Raises:
            InputError: a metric of a claim, or a figure of the mechanism at work, is missing.
        """
        runs = {one: [read_run(self.jobs[one, seed].folder) for seed in self.seeds] for one in self.sides}
        control_runs = [read_run(job.folder) for job in self.controls]
        page = self.ours.spec.template.page
        acts = seen_acts(page, runs[self.ours.name])
        decided = tuple(
            self._decide(claim, runs, control_runs, acts, activation if claim.needs_other_update else None)
            for claim in page.claims
        )
        return Replication(
            method=name,
            command=command,
            version=self.ours.version,
            seeds=self.seeds,
            claims=decided,
            arguments=self.ours.arguments(),
            baselines={one.name: one.arguments() for one in self.baselines.values()},
            curves=_curves(page.claims, runs, self.ours, self.baselines),
            seconds={one: sum(float(run.spent("seconds")[-1]) for run in found) for one, found in runs.items()},
            silent=_silent([self.jobs[self.ours.name, seed].folder for seed in self.seeds]),
            fingerprints={one.name: fingerprinter.fingerprint(one.spec) for one in self.sides.values()},
            acts=acts,
            activation=activation,
        )

    def _decide(
        self,
        claim: Claim,
        runs: dict[str, list[RunFigures]],
        control_runs: Sequence[RunFigures],
        acts: Sequence[SeenAct],
        activation: Activation | None,
    ) -> DecidedClaim:
        theirs = self.baselines.get(claim)
        baseline = [] if theirs is None else runs[theirs.name]
        control = control_runs if claim.needs_control else ()
        figures = require_acts(measure_claim(claim, runs[self.ours.name], baseline, control=control), acts, activation)
        return DecidedClaim.of(claim, figures, claim.baseline if theirs is None else theirs.name)


def plan_claims(name: str, of_runs: Sequence[str], *, seeds: Sequence[int], runs: Path) -> ClaimRuns:
    """Plan the runs of a method's claims.

    Args:
        name: of the method.
        of_runs: options of `train` for every run.
        seeds: one a pair.
        runs: folder of the runs; sides of equal arguments share a run.

    Raises:
        InputError: the method has no claims, or an option ends runs early.
    """
    ours, baselines = claim_sides(name, of_runs)
    if ours.spec.settings.stop_when or ours.spec.settings.patience:
        raise InputError("claims compare runs of equal length: leave --stop-when and --patience out")
    sides = {one.name: one for one in (ours, *baselines.values())}
    jobs = {(one.name, seed): make_job(one, seed, runs) for seed in seeds for one in sides.values()}
    needed = any(claim.needs_control for claim in ours.spec.template.page.claims)
    permuted = seeds[: control_pairs(len(seeds))] if needed else ()
    controls = tuple(make_job(ours.permuted(), seed, runs) for seed in permuted)
    return ClaimRuns(ours, baselines, tuple(seeds), jobs, controls)


def _curves(
    claims: Sequence[Claim], runs: dict[str, list[RunFigures]], ours: Side, baselines: dict[Claim, Side]
) -> dict[str, dict[str, Curve]]:
    """Metric -> side -> mean curve, of the rewards, calls, and training metrics of claims."""
    shown: dict[str, set[str]] = {metric: set(runs) for metric in CURVES}
    if any(_has_turn_rewards(found) for found in runs.values()):
        shown[EARNED] = set(runs)
    for claim in claims:  # a training metric of a claim may be missing on other sides
        if claim.metric.startswith(TRAINING):
            shown.setdefault(claim.metric, set()).update(one.name for one in (ours, baselines.get(claim)) if one)
    return {
        metric: {one: mean_curve(found, _metric_of(metric, found)) for one, found in runs.items() if one in names}
        for metric, names in shown.items()
    }


def _has_turn_rewards(runs: Sequence[RunFigures]) -> bool:
    name = EARNED.removeprefix(TRAINING)
    return all(any(name in row for row in run.metrics) for run in runs)


def _metric_of(metric: str, runs: Sequence[RunFigures]) -> str:
    """The metric of a side. A side without turn rewards has the reward of outcomes in place of EARNED."""
    return CURVES[0] if metric == EARNED and not _has_turn_rewards(runs) else metric


def _silent(folders: Sequence[Path]) -> tuple[str, ...]:
    """Channels with equal values for all siblings of every group, in every run."""
    found = []
    for folder in folders:
        with RunRecord.open(folder) as record:
            found.append(set(record.silent_channels()))
    return tuple(sorted(set.intersection(*found)))
