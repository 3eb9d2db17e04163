"""`handaxe replicate METHOD ... | --all`: run methods and the baselines of claims in pairs, and decide the claims."""

import heapq
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import tyro
from rich.console import Console

from handaxe.commands.output import checkout, command_line, console, note
from handaxe.commands.sides import check_method_names, check_sides, split_options
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import HandaxeError, InputError
from handaxe.evaluation.acts import Activation
from handaxe.evaluation.decide import LOOKS
from handaxe.evaluation.replication import Replication
from handaxe.methods.catalog import find_method, list_methods
from handaxe.training.record.folder import FolderLock
from handaxe.view.papers import Entry, find_decision
from handaxe.view.verdicts import verdict_table

if TYPE_CHECKING:
    import handaxe.commands.measure_claims as measuring
    import handaxe.commands.papers as pages
    import handaxe.commands.stale as stale
    import handaxe.methods.fingerprint as fingerprints
    import handaxe.view.plots as plots
else:
    measuring = DeferredModule("handaxe.commands.measure_claims")
    pages = DeferredModule("handaxe.commands.papers")
    stale = DeferredModule("handaxe.commands.stale")
    fingerprints = DeferredModule("handaxe.methods.fingerprint")
    plots = DeferredModule("handaxe.view.plots")

__all__ = ["ReplicateOptions", "main", "result_file"]

RESULTS = Path("results")
FIRST_SEED = 100
PAIRS = tuple(look.pairs for look in LOOKS)


@dataclass(frozen=True)
class ReplicateOptions:
    """Decide the claims of methods by paired runs: method and baseline with equal seeds and settings.

    Options of `handaxe train` after the methods apply to every run: handaxe replicate otc --steps 5 --model smollm2.
    Runs that are evaluated before and after training alone have 400 held-out tasks, unless page or option set another
    number.

    Claims are decided after 8 pairs; with --seeds 16 or 32, undecided ones are decided again after further pairs. The
    cheapest undecided claims come first. Finished runs are reused while code and files that they read are unchanged,
    also by other methods with the same baseline; after Ctrl-C, a kill or --hours, the same command continues. In a
    checkout, the result of a method of handaxe goes into the folder of the method (result.json, or result_NAME.json for
    a further method of the folder), unless options of train change the runs. Any other result goes to
    results/NAME.json.

    Args:
        methods: names, or MODULE:ATTRIBUTE of your own.
        all: every method with claims.
        undecided: of these, methods with a claim that is undecided or was never decided.
        stale: of these, methods whose result has no fingerprint, or another one than the present code. With
            --undecided: methods that are either.
        seeds: largest number of pairs: 8, 16 or 32; 2 to 7 for a trial without verdicts.
        first_seed: of the pairs; use lower seeds for development. By default that of the method's result, unless
            options of train change the runs; else 100.
        jobs: number of parallel runs, each with one thread; by default one per processor.
        hours: start no run after this time.
        runs: folder of the runs.
        out: write every result to this folder as NAME.json.
        plots: also draw the curves of each method into this folder as NAME.png; needs matplotlib, extra [plots].
    """

    methods: tyro.conf.Positional[tuple[str, ...]] = ()
    all: bool = False
    undecided: bool = False
    stale: bool = False
    seeds: int = 8
    first_seed: int | None = None
    jobs: int = 0
    hours: float | None = None
    runs: Path = Path("runs/replicate")
    out: Path | None = None
    plots: Path | None = None


class _Item(NamedTuple):
    """A look at the claims of a method. Items are ordered by cost.

    cost    estimated seconds of missing runs a claim that is undecided
    work    estimated seconds of missing runs
    """

    cost: float
    name: str
    pairs: int
    work: float


def main(arguments: list[str]) -> int:
    """Replicate; returns the exit code, 1 if a method of several failed."""
    own, of_runs = split_options(arguments, ReplicateOptions)
    options = tyro.cli(ReplicateOptions, args=own, prog="handaxe replicate", config=(tyro.conf.FlagCreatePairsOff,))
    _check(options)
    names = _names(options)
    check_sides(names if options.methods else names[:1], of_runs)
    terminal = console()
    if not names:
        note(terminal, "done", "no method is left to replicate")
        return 0
    options.runs.mkdir(parents=True, exist_ok=True)
    with FolderLock(options.runs):
        return _Queue(names, options, of_runs, terminal).run()


def _check(options: ReplicateOptions) -> None:
    known = [one.name for one in list_methods() if one.page.claims]
    if not options.methods and not options.all:
        raise InputError(f"the methods are missing: give --all, or some of {', '.join(known)}")
    check_method_names(options.methods)
    if options.seeds not in PAIRS and not 2 <= options.seeds < PAIRS[0]:
        looks = ", ".join(map(str, PAIRS))
        raise InputError(
            f"--seeds is {options.seeds}; claims are decided at {looks} pairs: give one of them, or 2 to 7 for a trial"
        )
    if options.hours is not None and not options.hours > 0:
        raise InputError(f"--hours is {options.hours:g}; give a time above 0, or leave it out")
    if options.jobs < 0:
        raise InputError(f"--jobs is {options.jobs}; give 1 or more parallel runs")


def _names(options: ReplicateOptions) -> list[str]:
    """The methods to replicate."""
    names = [one.name for one in list_methods() if one.page.claims] if options.all else list(options.methods)
    if not options.undecided and not options.stale:
        return names
    wanted, entries = set[str](), _entries(names)
    if options.undecided:
        wanted |= {name for name, one in entries.items() if _open_claims(one)}
    if options.stale:
        wanted |= {one.method for one in stale.check_results(list(entries.values())) if one.stale}
    return [name for name in names if name in wanted or name not in entries]


def _entries(names: Sequence[str]) -> dict[str, Entry]:
    """Name -> method with result, for listed methods in a checkout."""
    root = checkout()
    return {one.method.name: one for one in ([] if root is None else pages.read_methods(root, names))}


def _open_claims(one: Entry) -> int:
    """Number of claims that are undecided or have no figures."""
    decided = [find_decision(claim, one.result) for claim in one.method.page.claims]
    return sum(each is None or each.decision.verdict == "undecided" for each in decided)


class _Queue:
    """Methods in the order of their cost, each at its next look."""

    def __init__(self, names: Sequence[str], options: ReplicateOptions, of_runs: Sequence[str], terminal: Console):
        self._options = options
        self._of_runs = of_runs
        self._terminal = terminal
        self._entries = _entries(names)
        self._until = None if options.hours is None else time.monotonic() + 3600 * options.hours
        self._jobs = options.jobs or len(os.sched_getaffinity(0))
        self._made = fingerprints.Fingerprinter()
        self._activation: dict[str, Activation | None] = {}
        self._failed: dict[str, str] = {}
        self._done = 0
        self._left = [self._item(name, self._looks()[0]) for name in names]
        heapq.heapify(self._left)

    def run(self) -> int:
        """Replicate until no method is left, or time is over; returns the exit code."""
        alone = len(self._left) == 1
        while self._left:
            item = heapq.heappop(self._left)
            try:
                if not self._replicate(item):
                    heapq.heappush(self._left, item)
                    break
            except HandaxeError as error:
                if alone:
                    raise
                self._failed[item.name] = str(error)
                self._terminal.print(f"{item.name}: {error}", markup=False, highlight=False, style="red")
        if self._left:
            note(self._terminal, "time", f"is over; {len(self._left)} methods are left, and the same command continues")
        if self._failed:
            note(self._terminal, "failed", ", ".join(self._failed))
        return 1 if self._failed else 0

    def _replicate(self, item: _Item) -> bool:
        """Take one look at a method; returns False if time is over."""
        options, name = self._options, item.name
        planned = self._plan(name, item.pairs)
        finished = planned.train(at_once=self._jobs, console=self._terminal, title=self._title(item), until=self._until)
        if not finished:
            return False
        if name not in self._activation:
            note(self._terminal, "measuring", f"the update of {name} beside the update of its base, in one run")
            self._activation[name] = planned.activation()
        found = planned.decide(name, self._command(item), self._made, self._activation[name])
        file = result_file(name, options, self._of_runs)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(found.to_json(), encoding="utf-8")
        self._terminal.print(verdict_table(found))
        note(self._terminal, "written", str(file))
        if options.plots is not None:
            options.plots.mkdir(parents=True, exist_ok=True)
            plots.plot_curves(found, options.plots / f"{name.replace(':', '.')}.png")
        later = [pairs for pairs in self._looks() if pairs > item.pairs]
        if later and any(one.decision.verdict == "undecided" for one in found.claims):
            heapq.heappush(self._left, self._item(name, later[0], found))
        else:
            self._done += 1
        return True

    def _command(self, item: _Item) -> str:
        """Command that reproduces the result of one method of the queue."""
        seeds = ["--first-seed", str(self._first(item.name))]
        if item.pairs != PAIRS[0]:
            seeds = ["--seeds", str(item.pairs), *seeds]
        return command_line(["replicate", item.name, *seeds, *self._of_runs])

    def _looks(self) -> list[int]:
        return [pairs for pairs in PAIRS if pairs <= self._options.seeds] or [self._options.seeds]

    def _plan(self, name: str, pairs: int) -> "measuring.ClaimRuns":
        first = self._first(name)
        return measuring.plan_claims(name, self._of_runs, seeds=range(first, first + pairs), runs=self._options.runs)

    def _first(self, name: str) -> int:
        """First seed of the pairs of a method."""
        result = None if name not in self._entries else self._entries[name].result
        if self._options.first_seed is not None:
            return self._options.first_seed
        return FIRST_SEED if result is None or self._of_runs else result.seeds[0]

    def _item(self, name: str, pairs: int, found: Replication | None = None) -> _Item:
        """The next look at a method, with its estimated cost; unknown costs are the median of the known."""
        entry = self._entries.get(name)
        result = found or (None if entry is None else entry.result)
        missing = len(self._plan(name, pairs).missing())
        claims = 1 if entry is None else max(1, _open_claims(entry))
        work = missing * (_run_seconds(result) or self._usual_seconds())
        return _Item(work / claims, name, pairs, work)

    def _usual_seconds(self) -> float:
        known = [seconds for one in self._entries.values() if (seconds := _run_seconds(one.result))]
        return median(known) if known else 60.0

    def _title(self, item: _Item) -> str:
        if not self._left and not self._done:
            return f"{item.name}, {item.pairs} pairs"
        hours = sum(one.work for one in (item, *self._left)) / self._jobs / 3600
        before = self._done + len(self._failed)
        left = f"{before + 1} of {before + 1 + len(self._left)}, about {hours:.1f} h left"
        return f"{left}: {item.name}, {item.pairs} pairs"


def _run_seconds(result: Replication | None) -> float:
    """Mean seconds of a run of a result; 0 without a result."""
    if result is None or not result.seconds:
        return 0.0
    return sum(result.seconds.values()) / (len(result.seconds) * len(result.seeds))


def result_file(name: str, options: ReplicateOptions, of_runs: Sequence[str] = ()) -> Path:
    """File of the result of a method, with options of `train` in `of_runs`; see `ReplicateOptions`."""
    listed, root = find_method(name), checkout()
    ours = listed is not None and root is not None and listed.file.is_relative_to(root / "handaxe")
    if options.out is None and not of_runs and listed is not None and ours:
        return listed.result_file
    return (options.out or RESULTS) / f"{name.replace(':', '.')}.json"
