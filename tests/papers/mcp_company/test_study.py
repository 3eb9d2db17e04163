from dataclasses import replace

import pytest

from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.mcp_company import _access_env, _company_score, _gaps
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.worlds.toolbox.world import toolbox  # noqa: E402


def test_score_counts_calls_and_the_answer():
    world = toolbox(lengths=(2,))
    (task,) = world.tasks("test", 1, 900)
    scores = {}
    for access in ("gold", "retrieval", "none"):
        one = demonstrate(_access_env(world, access), task, world.expert, format=Compact())
        scores[access] = _company_score(world, one)
    assert scores == {"gold": 1.0, "retrieval": 1.0, "none": 0.0}
    half = {**one.env, "box": {"found": [True, True], "made": [True, False]}}
    assert _company_score(world, replace(one, env=half)) == pytest.approx(0.5 * 1 / 3, abs=1e-12)


def test_gaps_are_differences_of_scores():
    found = {f"{name}/{access}": 0.0 for name in ("strong", "weak_again", "start") for access in ("retrieval", "none")}
    found |= {"strong/gold": 0.0, "weak_again/gold": 0.1, "start/gold": 0.0}
    gaps = _gaps({**found, "weak/gold": 1.0, "weak/retrieval": 0.4, "weak/none": 0.1})
    assert gaps["weak/gap/retrieval"] == pytest.approx(0.6) and gaps["weak/gap/none"] == pytest.approx(0.3)
    assert gaps["gap/words"] == pytest.approx(0.6) and gaps["gap/searches"] == pytest.approx(0.5)
