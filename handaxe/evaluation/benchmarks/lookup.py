"""Finds a benchmark by name.

    files of this folder                 such as bfcl
    entry points handaxe.benchmarks      of other packages
    MODULE:ATTRIBUTE                     of your own

Each is a function without arguments that returns a `Benchmark`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points

from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute
from handaxe.evaluation.benchmarks.benchmark import Benchmark
from handaxe.evaluation.benchmarks.bfcl import bfcl
from handaxe.evaluation.benchmarks.families import families
from handaxe.evaluation.benchmarks.mcp_company import mcp_company
from handaxe.evaluation.benchmarks.metatool import metatool
from handaxe.evaluation.benchmarks.tau2 import tau2
from handaxe.evaluation.benchmarks.tps_bench import tps_bench

__all__ = ["find_benchmark", "list_benchmarks"]

BENCHMARKS: dict[str, Callable[[], Benchmark]] = {
    "bfcl": bfcl,
    "families": families,
    "mcp_company": mcp_company,
    "mcp_company_served": partial(mcp_company, served=True),
    "metatool": metatool,
    "tau2": tau2,
    "tps_bench": tps_bench,
}
GROUP = "handaxe.benchmarks"


def list_benchmarks() -> list[str]:
    """Every name, sorted."""
    return sorted({*BENCHMARKS, *(point.name for point in entry_points(group=GROUP))})


def find_benchmark(name: str) -> Benchmark:
    """Create the benchmark of a name. Creates no world and loads no model.

    Args:
        name: one of `list_benchmarks()`, or MODULE:ATTRIBUTE.

    Raises:
        InputError: nothing has that name, with the names in the message; or the object is no benchmark.
    """
    if ":" in name:
        make = attribute(name, noun="benchmark", example="my_file:my_benchmark")
    elif name in BENCHMARKS:
        make = BENCHMARKS[name]
    else:
        points = {point.name: point for point in entry_points(group=GROUP)}
        if name not in points:
            close = difflib.get_close_matches(name, list_benchmarks(), n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]}?" if close else ""
            known = ", ".join(list_benchmarks())
            raise InputError(
                f"there is no benchmark {name!r}{hint or f'; there are {known}, and MODULE:ATTRIBUTE of your own'}"
            )
        make = points[name].load()
    made = make() if callable(make) else make
    if not isinstance(made, Benchmark):
        raise InputError(f"{name!r} is no benchmark: name a function without arguments that returns a Benchmark")
    return made
