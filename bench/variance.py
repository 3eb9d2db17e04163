"""Splits the variance of a paired difference into training seed, tasks and sampling, and compares ways to reduce it.

    python bench/variance.py                     every claim of CLAIMS
    python bench/variance.py --claims rloo       the claim of a method
    python bench/variance.py --quick             two pairs of tiny runs, as a trial

Method and baseline of a claim train with equal seeds, as in `handaxe replicate`. The last evaluation plays 400 held-out
tasks twice; the earlier ones play 200 tasks once. Each finished run is a file in --runs, and the same command
continues. Seconds are processor time of one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from variance_estimates import REFERENCE, Cells, estimate_claim, pool

RESULTS = Path(__file__).parent / "results" / "variance.json"
FIRST_SEED = 300
SECOND_DRAW = 1_000_000
"""Added to the seed of an evaluation for the second sample of each task."""
LATE = (4, 2)
"""Steps before the end at which the two earlier of the last three evaluations take place."""


class Measured(NamedTuple):
    """Method, place of the claim on its page, and True if a rollout is one turn with one correct text."""

    method: str
    claim: int = 0
    label: bool = False

    @property
    def name(self) -> str:
        return f"{self.method}-{self.claim}"


CLAIMS = (
    Measured("rloo"),
    Measured("toolrl_scales", 1, label=True),
    Measured("gui_g1", 1),
    Measured("reasoning_sql"),
    Measured("ikea"),
    Measured("mixed_r1"),
    Measured("bleuberi", 1),
    Measured("molact"),
)
"""One claim a world, chosen before any run: a stored run took less than 60 seconds, the cold start is shipped or
takes at most 350 steps, and the figure is a mean over tasks at the end of the run."""


def main() -> None:
    """Train the missing runs, in turn over the claims, then estimate and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", nargs="+", help="methods; all of CLAIMS without one")
    parser.add_argument("--pairs", type=int, default=4, help="pairs of runs a claim, 2 or more")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no pair after this processor time")
    parser.add_argument("--runs", type=Path, default=Path("runs/variance"), help="folder of the finished runs")
    parser.add_argument("--quick", action="store_true", help="tiny runs, as a trial")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    chosen = [one for one in CLAIMS if not given.claims or one.method in given.claims]
    if unknown := set(given.claims or ()) - {one.method for one in CLAIMS}:
        parser.error(f"no claim of {', '.join(sorted(unknown))}: add a line to CLAIMS")
    if given.pairs < 2:
        parser.error(f"--pairs is {given.pairs}; give 2 or more")
    os.environ["OMP_NUM_THREADS"] = "1"
    size = QUICK if given.quick else FULL
    given.runs.mkdir(parents=True, exist_ok=True)
    for pair in range(2 if given.quick else given.pairs):
        for one in chosen[:1] if given.quick else chosen:
            if time.process_time() < 60 * given.minutes:
                train_pair(one, FIRST_SEED + pair, given.runs, size)
    rows = [row for one in chosen if (row := read_claim(one, given.runs, size)) is not None]
    found = {"setting": size._asdict(), "claims": rows, "pooled": pool(rows)}
    given.out.write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    for row in (*rows, found["pooled"]):
        print(json.dumps(row), flush=True)


class Size(NamedTuple):
    """Sizes of a run: held-out tasks of the last evaluation, those of earlier evaluations, and training steps.

    steps   0 for the steps of the method
    """

    tasks: int
    few: int
    steps: int = 0


FULL = Size(tasks=2 * REFERENCE, few=REFERENCE)
QUICK = Size(tasks=24, few=12, steps=5)


def train_pair(one: Measured, seed: int, runs: Path, size: Size) -> None:
    """Train both sides with a seed, unless their files exist."""
    from handaxe.commands.claim_sides import claim_sides

    ours, baselines = claim_sides(one.method)
    claim = ours.spec.template.page.claims[one.claim]
    for side, trained in (("ours", ours), ("theirs", baselines[claim])):
        file = run_file(one, side, seed, runs, size)
        if file.exists():
            continue
        body = train_side(trained.seeded(seed), claim, one.label, size)
        about = {"claim": claim.text, "metric": claim.metric, "world": trained.spec.template.world.name}
        whole = {**about, "baseline": baselines[claim].name, "version": trained.version, **body}
        file.with_suffix(".part").write_text(json.dumps(whole), encoding="utf-8")
        file.with_suffix(".part").replace(file)
        print(
            f"{file.name}: {body['train_seconds']:.1f} s trained, {body['rollout_seconds']:.4f} a rollout", flush=True
        )


def run_file(one: Measured, side: str, seed: int, runs: Path, size: Size) -> Path:
    """File of a finished run."""
    return runs / f"{one.name}-{size.tasks}-{size.steps}-{side}-{seed}.json"


def train_side(spec: Any, claim: Any, label: bool, size: Size) -> dict[str, Any]:
    """Train a run without a record; returns values of tasks at its evaluations, and processor seconds."""
    import torch

    from handaxe.methods.build import build, make_method, make_world
    from handaxe.methods.run import run_built
    from handaxe.training.loop.config import PeriodicEvaluation, RunConfig

    torch.set_num_threads(1)
    steps = size.steps or spec.settings.steps
    spec = replace(spec, settings=replace(spec.settings, held_out=size.tasks, steps=steps))
    method = make_method(spec, make_world(spec))
    made = build(spec, method=method)
    watch = Watch(made["run"].evaluation.evaluate, claim, steps, size, label)
    made["run"] = replace(made["run"], evaluation=PeriodicEvaluation(evaluate=watch, every=1))
    begun = time.process_time()
    run_built(method, made, RunConfig(progress=False))
    watch.body["train_seconds"] = time.process_time() - begun - watch.seconds
    watch.body["rollout_seconds"] = watch.seconds / watch.rollouts
    return watch.body


@dataclass
class Watch:
    """Evaluation of a run at its start, at the last three even steps, and with all tasks at its end."""

    held_out: Any
    claim: Any
    steps: int
    size: Size
    label: bool
    body: dict[str, Any] = field(default_factory=lambda: {"late": [], "end": []})
    seconds: float = 0.0
    rollouts: int = 0

    @property
    def sampling(self) -> Any:
        """Read by stages."""
        return self.held_out.sampling

    def __call__(self, engine: Any, done: int) -> dict[str, Any]:
        if done == 0:
            self.body["start"] = self._values(engine, self.size.few)
        if self.steps - done in LATE:
            self.body["late"].append(self._values(engine, self.size.few))
        if done == self.steps:
            self.body["end"] = [self._values(engine, self.size.tasks, shift) for shift in (0, SECOND_DRAW)]
            self.body["exact"] = self._exact(engine) if self.label else None
        return {}

    def _values(self, engine: Any, count: int, shift: int = 0) -> list[float | None]:
        """The claim's figure of the first `count` tasks, one rollout each; None for tasks without it."""
        from handaxe.evaluation.estimates import columns

        begun = time.process_time()
        tasks, seed = self.held_out.tasks[:count], self.held_out.seed + shift
        found = replace(self.held_out, tasks=tasks, seed=seed, samples=1).evaluation(engine)
        self.seconds += time.process_time() - begun
        self.rollouts += count
        column = columns(found.tasks, ks=(1,))[self.claim.metric]
        if not set(column.bottom_T.tolist()) <= {0.0, 1.0}:
            raise SystemExit(f"{self.claim.metric} is no mean over tasks")
        where = self.claim.where
        kept = [not where or str(one.metadata.get(where[0])) == str(where[1]) for one in found.tasks]
        known = column.usable_T & (column.bottom_T > 0) & kept
        return [float(value) if there else None for value, there in zip(column.top_T, known)]

    def _exact(self, engine: Any) -> dict[str, Any]:
        """Probability of the expert's turn at each task, and seconds a task."""
        from handaxe.core.records import Author
        from handaxe.core.requests import Measure
        from handaxe.worlds.parts.demonstrate import demonstrate

        begun = time.process_time()
        made = self.held_out
        probability = []
        for task in made.tasks:
            played = demonstrate(made.env, task, made.world.expert, format=made.format, rollout=made.rollout)
            (sequence,) = played.sequences
            start = int((sequence.author == Author.POLICY).argmax())
            (found,) = engine.measure([Measure(sequence.ids.tolist(), start)])
            said = sequence.author[start:] == Author.POLICY
            probability.append(math.exp(sum(logp for logp, own in zip(found["logp"], said) if own)))
        seconds = time.process_time() - begun
        self.seconds += seconds
        return {"probability": probability, "seconds": seconds / len(probability)}


def read_claim(one: Measured, runs: Path, size: Size) -> dict[str, Any] | None:
    """Estimates of a claim from its finished pairs; None with fewer than two."""
    pairs = []
    seed = FIRST_SEED
    while all(run_file(one, side, seed, runs, size).exists() for side in ("ours", "theirs")):
        pairs.append([json.loads(run_file(one, side, seed, runs, size).read_text()) for side in ("ours", "theirs")])
        seed += 1
    if len(pairs) < 2:
        return None
    about = {name: pairs[0][0].get(name, "") for name in ("claim", "metric", "world", "baseline", "version")}
    about |= {"method": one.method, "pairs": len(pairs)}
    cells = [Cells.read([pair[k] for pair in pairs]) for k in (0, 1)]
    return about | estimate_claim(*cells, stored=stored_differences(one))


def stored_differences(one: Measured) -> list[float]:
    """Differences of the pairs of the stored result of the claim in the reference setting; [] without them."""
    from handaxe.evaluation.replication import Replication
    from handaxe.methods.catalog import find_method

    listed = find_method(one.method)
    if listed is None or not listed.result_file.exists():
        return []
    result = Replication.from_json(listed.result_file.read_text(encoding="utf-8"))
    same = (result.arguments.get("held_out"), result.arguments.get("samples")) == (REFERENCE, 1)
    claim = listed.page.claims[one.claim]
    found = [made.figures.paired for made in result.claims if same and made.claim.decides_as(claim)]
    return [a - b for paired in found[:1] for a, b in zip(paired.ours, paired.theirs)]


if __name__ == "__main__":
    main()
