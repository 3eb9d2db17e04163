"""The bare simulator of `repair`: runs of a failing test in a forked process of the sandbox, without handaxe's loop.

python bench/simulators/repair.py      milliseconds of a run by package, and of all tests of a module
"""

from __future__ import annotations

import statistics
import time

from handaxe.worlds.repair.bench import read_source
from handaxe.worlds.repair.source import change
from handaxe.worlds.repair.tasks import Mutant, make_runner, mutants

EACH = 12
"""Tasks of a package."""


def steps(seconds: float) -> tuple[int, float]:
    """Run failing tests of faulty modules for about this long: (runs, seconds taken)."""
    chosen = _chosen()
    for one in chosen:
        _run(one, (one.shown,))  # imports the tests
    number, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        _run(chosen[number % len(chosen)], (chosen[number % len(chosen)].shown,))
        number += 1
    return number, time.perf_counter() - begun


def _chosen() -> list[Mutant]:
    """Tasks spread over the modules of each package."""
    found = []
    for package in sorted({one.module.package for one in mutants()}):
        own = [one for one in mutants() if one.module.package == package]
        found += own[:: max(1, len(own) // EACH)][:EACH]
    return found


def _run(one: Mutant, names: tuple[str, ...]) -> float:
    """Seconds of a run of the tests with the faulty function, in a new process."""
    source = read_source(one)
    functions = [function for function in source.functions if function.name == one.function]
    begun = time.perf_counter()
    changes = change(functions, source.mutated(one.edit))
    result = make_runner(one.module.package).run_once(
        one.module.name, one.module.tests, names, tuple(changes), stop=False, trace=False
    )
    assert one.shown in result.failed
    return time.perf_counter() - begun


def main() -> None:
    """Print a table."""
    print(f"{'package':12} {'tasks':>5}  {'a test':>20}  {'all of a module':>20}   median and 90th percentile, ms")
    for package in sorted({one.module.package for one in mutants()}):
        chosen = [one for one in _chosen() if one.module.package == package]
        for one in chosen:
            _run(one, (one.shown,))
        columns = []
        for every in (False, True):
            took = [_run(one, one.module.names if every else (one.shown,)) for one in chosen for _ in range(10)]
            columns.append(f"{1000 * statistics.median(took):9.1f} {1000 * statistics.quantiles(took, n=10)[-1]:9.1f}")
        print(f"{package:12} {len(chosen):5}  {columns[0]:>20}  {columns[1]:>20}")


if __name__ == "__main__":
    main()
