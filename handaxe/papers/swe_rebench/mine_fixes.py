"""Mining of tasks: edits of functions of real packages, kept if the package's tests validate the reference fix."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handaxe.ops.seeds import derive_seed
from handaxe.papers.swe_rebench.validate_fix import FixTests, validate_fix
from handaxe.worlds.repair.runner import Result
from handaxe.worlds.repair.source import Edit, Function, candidates, change
from handaxe.worlds.repair.tasks import Module, Source, make_runner, module_source, mutants

__all__ = ["FixTask", "STAGES", "function_text", "listed_modules", "mine_fixes", "run_tests"]

STAGES = ("candidates", "described", "running", "failing", "guarded", "stable")
"""Stages of the funnel. described: the function has a docstring above 10 characters. running: the tests end in time.
failing: a test fails before the fix, and none after. guarded: a test passes before. stable: further runs are equal."""
DESCRIBED = 10
CUT = ("Timeout", "Crash")


class FixTask(NamedTuple):
    """Task: a faulty function of a module. The reference fix takes `edit` back.

    module: with version and tests. function: faulty. edit: from the original to the faulty token. tests: of the fix.
    """

    module: Module
    function: Function
    edit: Edit
    tests: FixTests

    @property
    def source(self) -> Source:
        """Original source of the module."""
        return module_source(self.module.package, self.module.version, self.module.name, self.module.digest)


def listed_modules() -> list[Module]:
    """Modules of installed packages with tests, in the order of the world `repair`."""
    return list(dict.fromkeys(one.module for one in mutants()))


def mine_fixes(
    module: Module, *, count: int, seed: int, known: Sequence[FixTask] = ()
) -> tuple[list[FixTask], Counter[str]]:
    """Draw candidates of a module, and keep the candidates that pass every stage.

    Args:
        module: with tests that pass on the original.
        count: candidates.
        seed: of the candidates.
        known: earlier tasks; equal edits are no candidates.

    Returns:
        The tasks, in the order of the lines, and the number of candidates that reached each stage of `STAGES`.

    Raises:
        InputError: the package is missing or has another version (extra [repair]).

    Example:
        mine_fixes(listed_modules()[0], count=8, seed=0)[1] may be candidates 8, described 7, ..., stable 5

    Paper: arXiv:2505.20411 (SWE-rebench), stages 1 and 3 of the pipeline.
    Differs: candidates are mutations of a token instead of merged pull requests, and the reference fix is the original.
    """
    source = module_source(module.package, module.version, module.name, module.digest)
    taken = {(one.module.name, one.edit) for one in known}
    every = [(one, edit) for one in source.functions for edit in candidates(one, source.rows)]
    every = [pair for pair in every if (module.name, pair[1]) not in taken]
    rng = random.Random(derive_seed("swe rebench", module.tests, seed))
    tasks: list[FixTask] = []
    reached = Counter[str](dict.fromkeys(STAGES, 0))
    for function, edit in sorted(rng.sample(every, min(count, len(every))), key=lambda pair: pair[1]):
        task: FixTask | None = None
        for stage, found in zip(STAGES, _stages(module, source, function, edit), strict=False):
            reached[stage] += 1
            task = found
        if task is not None:
            tasks.append(task)
    return tasks, reached


def _stages(module: Module, source: Source, function: Function, edit: Edit) -> Iterator[FixTask | None]:
    """Yield once for each stage that the candidate passes; the last has the task."""
    yield None
    if len(_description(function, source)) <= DESCRIBED:
        return
    yield None
    before = run_tests(module, function, source.mutated(edit))
    after = run_tests(module, function, source.rows)
    if before.error in CUT or after.error in CUT:
        return
    yield None
    tests = validate_fix(module.names, before.failed, after.failed)
    if tests in ("gold fails", "no failing test"):
        return
    yield None
    if isinstance(tests, str):
        return
    yield None
    again = run_tests(module, function, source.mutated(edit), once=True)
    if again.failed == before.failed and not run_tests(module, function, source.rows, once=True).failed:
        yield FixTask(module, function, edit, tests)


def run_tests(
    module: Module, function: Function, rows: Sequence[str], names: Sequence[str] = (), *, once: bool = False
) -> Result:
    """Run tests of a module with other lines of a function, in the sandbox.

    Args:
        module: with tests.
        function: whose lines differ.
        rows: lines of the module.
        names: of the tests; all without a name.
        once: run again, also after an equal run.
    """
    run = make_runner(module.package)
    names = tuple(names) or module.names
    changes = change([function], tuple(rows))
    if once:
        return run.run_once(module.name, module.tests, names, tuple(changes), False, False)
    return run.run(module.name, module.tests, names, changes, stop=False)


def function_text(function: Function, rows: Sequence[str]) -> str:
    """Code lines of a function, without docstring and comments."""
    return "\n".join(rows[line - 1] for line in function.lines)


def _description(function: Function, source: Source) -> str:
    """Docstring of a function, in place of the issue."""
    text = "\n".join(source.rows[function.first - 1 : function.last])
    node = ast.parse(f"class _Owner:\n{text}" if function.owner else text).body[0]
    inner = node.body[0] if isinstance(node, ast.ClassDef) and function.owner else node
    assert isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef), "functions are read from definitions"
    return ast.get_docstring(inner) or ""
