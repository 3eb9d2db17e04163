"""Names of benchmarks."""

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.benchmarks import lookup
from handaxe.evaluation.benchmarks.lookup import find_benchmark, list_benchmarks


def test_every_name_is_found():
    names = {"bfcl", "families", "mcp_company", "mcp_company_served", "metatool", "tau2", "tps_bench"}
    assert names <= set(list_benchmarks())
    assert all(find_benchmark(name).name == name for name in lookup.BENCHMARKS)


def test_unknown_name_lists_the_names():
    names = "bfcl, families, mcp_company, mcp_company_served, metatool, tau2, tps_bench"
    with pytest.raises(InputError, match=f"no benchmark 'nowhere'; there are {names}, and MODULE:ATTRIBUTE"):
        find_benchmark("nowhere")
    with pytest.raises(InputError, match="did you mean bfcl"):
        find_benchmark("bfc")


def test_own_benchmarks_by_import_string_and_entry_point(monkeypatch):
    assert find_benchmark("handaxe.evaluation.benchmarks.tau2:tau2").name == "tau2"
    with pytest.raises(InputError, match="is no benchmark"):
        find_benchmark("math:pi")

    class Point:
        name = "own"

        def load(self):
            return lookup.BENCHMARKS["bfcl"]

    monkeypatch.setattr(lookup, "entry_points", lambda group: [Point()])
    assert "own" in list_benchmarks() and find_benchmark("own").name == "bfcl"
