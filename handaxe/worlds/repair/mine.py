"""Search and verification of the tasks of `repair`.

    python -m handaxe.worlds.repair.mine           # write mutants.json, for the installed versions
    python -m handaxe.worlds.repair.mine --check   # run every task of the file again

A mutation is a task if at least two tests of the module fail, none by a time limit, and if the expert finds a repair
that passes all tests.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from importlib import metadata
from itertools import islice
from pathlib import Path

from handaxe.ops.seeds import derive_seed
from handaxe.worlds.repair.expert import search_repair
from handaxe.worlds.repair.runner import Result
from handaxe.worlds.repair.source import Edit, Function, candidates, change
from handaxe.worlds.repair.tasks import (
    FILE,
    Module,
    Mutant,
    Source,
    make_runner,
    module_source,
    mutants,
    text_digest,
)

__all__ = ["check_task", "main", "mine"]

PAIRS = {
    "toolz": [
        (f"toolz.{one}", f"toolz.tests.test_{one}") for one in ("itertoolz", "dicttoolz", "functoolz", "recipes")
    ],
    "hyperlink": [("hyperlink._url", f"hyperlink.test.test_{one}") for one in ("url", "decoded_url", "parse")],
}
"""Modules and their tests; those of networkx are found by name."""
MODULE_SECONDS = 0.02
TEST_SECONDS = 0.004
"""Processor time of the tests of a module, and of one."""
PER_FUNCTION = 3
PER_MODULE = {"toolz": 40, "hyperlink": 30, "networkx": 10}
"""Most tasks of a function, and of a module."""
TRIED = 6
"""Mutations of a function that are run."""
SHOWN = 2
"""Failing tests of a mutation that are tried as the shown one."""
MOST_TRIES = 24
MOST_READS = 12


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="verify the tasks of the file")
    options = parser.parse_args()
    if options.check:
        failed = [problem for one in mutants() for problem in check_task(one)]
        print("\n".join([*failed, f"{len(mutants())} tasks, {len(failed)} problems"]))
        return int(bool(failed))
    rows = []
    for package, name, tests in _pairs():
        module = _module(package, name, tests)
        found = mine(module) if module.names else []
        print(f"{tests}: {len(module.names)} tests, {len(found)} tasks", file=sys.stderr, flush=True)
        if found:
            rows.append([*module, [_row(module, one) for one in found]])
            FILE.write_text("[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in rows) + "\n]\n")
    print(f"{sum(len(one[-1]) for one in rows)} tasks of {len(rows)} modules in {FILE.name}")
    return 0


def mine(module: Module) -> list[Mutant]:
    """Find the tasks of a module, by a fixed seed."""
    source = module_source(module.package, module.version, module.name, module.digest)
    rng = random.Random(derive_seed("repair", module.tests))
    made: list[Mutant] = []
    for function in rng.sample(source.functions, len(source.functions)):
        if len(made) >= PER_MODULE[module.package]:
            break
        edits = candidates(function, source.rows)
        edits = [one for one in edits if source.rows[one.line - 1].isascii()]
        found = (_mutant(module, source, function, one) for one in rng.sample(edits, min(TRIED, len(edits))))
        made.extend(islice((one for one in found if one is not None), PER_FUNCTION))
    return sorted(made[: PER_MODULE[module.package]], key=lambda one: one.edit)


def _mutant(module: Module, source: Source, function: Function, edit: Edit) -> Mutant | None:
    rows = source.mutated(edit)
    result = _run(module, function, rows, module.names)
    if len(result.failed) < 2 or result.error in ("Timeout", "Crash"):
        return None
    best: Mutant | None = None
    for shown in result.failed[:SHOWN]:
        found = search_repair(module, source, rows, shown, most=MOST_TRIES)
        if found is not None and found.passed and found.reads <= MOST_READS:
            one = Mutant(module, edit, function.name, shown, len(result.failed), found.reads, found.tries)
            best = one if best is None or one.tries < best.tries else best
    return best


def check_task(one: Mutant) -> list[str]:
    """Problems of a task: the original fails a test, the mutant does not fail as recorded, or the expert fails."""
    source = module_source(one.module.package, one.module.version, one.module.name, one.module.digest)
    function = next(function for function in source.functions if function.name == one.function)
    label, out = f"{one.module.name}:{one.edit.line}", []
    if failed := _run(one.module, function, source.rows, one.module.names).failed:
        out.append(f"{label}: the original fails {failed[0]}")
    rows = source.mutated(one.edit)
    failed = _run(one.module, function, rows, one.module.names).failed
    if one.shown not in failed or len(failed) != one.killers:
        out.append(f"{label}: {len(failed)} tests fail, {one.shown in failed} for the shown one")
    found = search_repair(one.module, source, rows, one.shown, most=MOST_TRIES)
    if found is None or not found.passed or (found.reads, found.tries) != (one.reads, one.tries):
        out.append(f"{label}: the expert's search is {found}")
    return out


def _run(module: Module, function: Function, rows: tuple[str, ...], names: tuple[str, ...]) -> Result:
    changes = change([function], rows)
    return make_runner(module.package).run(module.name, module.tests, names, changes, stop=False)


def _module(package: str, name: str, tests: str) -> Module:
    """Module with passing, fast tests, up to a total time."""
    version = metadata.version(package)
    source = module_source(package, version, name)
    run = make_runner(package)
    module = Module(package, version, name, tests, text_digest("\n".join(source.rows)), ())
    try:
        names = run.collect(tests)
    except Exception as error:
        print(f"{tests}: {str(error)[-80:]}", file=sys.stderr)
        return module
    kept, total = [], 0.0
    for one in names:
        result = run.run(name, tests, [one])
        if not result.failed and result.seconds[0] <= TEST_SECONDS and total + result.seconds[0] <= MODULE_SECONDS:
            kept.append(one)
            total += result.seconds[0]
    stable = all(not run.run(name, tests, kept).failed for _ in range(3))
    return module._replace(names=tuple(kept) if stable else ())


def _pairs() -> Iterator[tuple[str, str, str]]:
    for package, pairs in PAIRS.items():
        yield from ((package, name, tests) for name, tests in pairs)
    root = Path(str(metadata.distribution("networkx").locate_file("networkx"))) / "algorithms"
    for file in sorted(root.rglob("tests/test_*.py")):
        folder, name = file.parent.parent, file.stem.removeprefix("test_")
        if (folder / f"{name}.py").exists():
            place = ".".join(folder.relative_to(root.parent.parent).parts)
            yield "networkx", f"{place}.{name}", f"{place}.tests.{file.stem}"


def _row(module: Module, one: Mutant) -> list[object]:
    return [*one.edit, one.function, module.names.index(one.shown), one.killers, one.reads, one.tries]


if __name__ == "__main__":
    sys.exit(main())
