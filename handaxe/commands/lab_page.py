"""Writes or checks docs/lab.md, the page of attacks on rewards, for `handaxe lab --page`."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import handaxe
from handaxe.commands.output import console, note
from handaxe.core.errors import HandaxeError, InputError
from handaxe.evaluation.attack_trials import AttackBench, LabCase
from handaxe.evaluation.mechanisms import constant_of_test, file_of_test, kinds, list_mechanisms
from handaxe.methods import reward_trials
from handaxe.methods.catalog import list_methods
from handaxe.methods.run_spec import run_template
from handaxe.view.attack_page import LabResults, lab_tables, stale

__all__ = ["LabRows", "MARK", "MethodRows", "lab_rows", "method_rows", "write_page"]

MARK = "<!-- what follows is written by `handaxe lab --page` -->\n"
"""The part of the page above this line is written by hand."""


class LabRows(NamedTuple):
    """Cases of all rewards and judges, and the reason for each mechanism without a case."""

    cases: list[LabCase]
    reasons: dict[str, str]


class MethodRows(NamedTuple):
    """Constants of the tests of methods.

    reasons  method -> why its reward cannot score rollouts that no policy made (LAB)
    models   methods whose reward calls a model (ASKS_MODEL)
    why      method or "world NAME" -> reason for a fall (FALLS)
    """

    reasons: dict[str, str]
    models: list[str]
    why: dict[str, str]


def lab_rows() -> LabRows:
    """Read the constant LAB of the tests of all rewards and judges.

    Raises:
        InputError: a test has no LAB, which is a list of cases or a reason.
    """
    found = LabRows([], {})
    for module in sorted(list_mechanisms("Reward", "Judge"), key=_order):
        rows = constant_of_test(module, "LAB")
        if not rows:
            raise InputError(
                f"{file_of_test(module)} has no constant LAB: give LAB = [LabCase(...)], or a reason for none as text"
            )
        if isinstance(rows, str):
            found.reasons[module.rpartition(".")[2]] = rows
        else:
            found.cases.extend(rows)
    return found


def method_rows() -> MethodRows:
    """Read the constants LAB, ASKS_MODEL and FALLS of the tests of methods and of their worlds."""
    found = MethodRows({}, [], {})
    for one in list_methods():
        module = one.module.removeprefix("handaxe.")
        if reason := constant_of_test(module, "LAB"):
            found.reasons[one.name] = reason
        if constant_of_test(module, "ASKS_MODEL"):
            found.models.append(one.name)
        if why := constant_of_test(module, "FALLS"):
            found.why[one.name] = why
        world = run_template(one.name).world
        if why := constant_of_test(world.make.__module__.removeprefix("handaxe."), "FALLS"):
            found.why[f"world {world.name}"] = why
    return found


def write_page(root: Path | None, *, check: bool) -> int:
    """Measure everything, and write or check the page.

    Args:
        root: the checkout; None: the one that contains this package.
        check: write nothing. Rewards that call a model are not called, and their lines stay as they are.

    Returns:
        The exit code.

    Raises:
        InputError: there is no checkout, or no page with the mark; a test has no LAB.
        HandaxeError: the page is stale.
    """
    root = root or Path(handaxe.__file__).parents[1]
    file = root / "docs" / "lab.md"
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    if MARK not in old:
        raise InputError(f"{file} does not exist, or lacks the line {MARK.strip()!r} above its tables")
    by_hand = old[: old.index(MARK) + len(MARK)]
    rows, methods = lab_rows(), method_rows()
    new = f"{by_hand}\n{lab_tables(_results(rows, methods, models=not check))}"
    if not check:
        file.write_text(new, encoding="utf-8")
        note(console(), "written", str(file))
        return 0
    unmeasured = [*(one.text for one in rows.cases if one.model), *methods.models]
    if wrong := stale(old, new, unmeasured=unmeasured):
        raise HandaxeError(f"{file} is stale; `handaxe lab --page` rewrites it: {wrong}")
    note(console(), "checked", f"{file} is up to date; not called: {', '.join(unmeasured)}")
    return 0


def _results(rows: LabRows, methods: MethodRows, *, models: bool) -> LabResults:
    bench, trials, why = AttackBench(), [], dict(methods.why)
    for case in rows.cases:
        if models or not case.model:
            world = case.world()
            trials.append(bench.attack(case.reward(world), world, key=case.key, name=case.text, seconds=None))
            why |= {case.text: case.why} if case.why else {}
    of_methods, same = reward_trials.attack_all_methods(
        bench, skipped=methods.reasons, world_only=() if models else methods.models, seconds=None
    )
    return LabResults(trials, of_methods, same=same, skipped={**rows.reasons, **methods.reasons}, why=why)


def _order(module: str) -> tuple[bool, str]:
    """Rewards, then judges, each by name."""
    found: Mapping[str, str] = kinds()
    return found[module] == "Judge", module.rpartition(".")[2]
