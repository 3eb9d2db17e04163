"""The pipeline orbit_rubrics: funnels in hops and in another world, and refusals."""

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.orbit.orbit_rubrics import orbit_rubrics
from handaxe.synthesis.context import PipelineContext
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.hops.world import hops

pytest.importorskip("bm25s")


def context(world):
    return PipelineContext(world, "", world.env(world.tools), world.tasks("test", 50, 0))


def test_rubrics_of_retrieved_cases_name_the_searches_of_the_question(tmp_path):
    report = orbit_rubrics(context(hops()), batch=48).run(out=tmp_path, count=30)
    step = next(one for one in report.card["steps"] if one["name"] == "rubric")
    assert len(report.drafts) == 30 and step["reasons"]["every criterion is easy"] >= 3
    for one in report.drafts:
        rows, rates = one.payload["metadata"]["rubric"], one.notes["rubric"]["rates"]
        relations = {row["name"].removeprefix("search ") for row in rows if row["name"].startswith("search ")}
        assert relations <= set(one.payload["metadata"]["path"])
        assert all(row["points"] < 0 or rates[row["name"]] < 0.75 for row in rows)
        assert any(rate >= 0.75 for rate in rates.values()) or len(rates) == len(rows)


def test_another_world_has_criteria_of_its_reference_calls(tmp_path):
    report = orbit_rubrics(context(arithmetic()), cases=0, batch=48).run(out=tmp_path, count=20)
    names = {row["name"] for one in report.drafts for row in one.payload["metadata"]["rubric"]}
    assert len(report.drafts) == 20 and names == {"call 0", "answer"}
    with pytest.raises(InputError, match="not arithmetic: --cases 0"):
        orbit_rubrics(context(arithmetic()))
