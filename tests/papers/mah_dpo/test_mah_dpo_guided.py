"""The study of guided decoding, with the packaged policy in the place of the cold-start checkpoint."""

from pathlib import Path

import pytest

import handaxe.papers.mah_dpo.mah_dpo_guided as study
from handaxe.core.errors import InputError
from handaxe.methods.paper import read_paper
from handaxe.models.load import load

ARMS = ("unguided", "best", "correct", "brief", "sum", "rule", "first")


@pytest.fixture(scope="module")
def figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "start_policy", lambda world: load("tiny"))
        patch.setattr(study, "TURNS", 3)
        return study.mah_dpo_guided(training=3, samples=2, held_out=3, candidates=2)(3)


def test_every_arm_has_figures(figures):
    for name in ARMS:
        assert 0 <= figures[f"correct/{name}"] <= 1 and figures[f"turns/{name}"] <= 3
        assert 0 < figures[f"tokens/{name}"] <= figures[f"sampled/{name}"]
    assert figures["labels"] >= 6


def test_candidates_that_were_not_chosen_count_as_sampled(figures):
    for name in ("best", "correct", "brief", "sum", "rule", "first"):
        assert figures[f"sampled/{name}"] > figures[f"tokens/{name}"]
    assert figures["sampled/unguided"] == pytest.approx(figures["tokens/unguided"])
    assert figures["sampled/best"] == pytest.approx(2 * figures["tokens/unguided"])


def test_every_bound_of_the_page_is_a_figure(figures):
    page = next(one for one in read_paper(Path(study.__file__).parent).studies if one.name == "mah_dpo_guided")
    assert {bound.metric for bound in page.bounds} <= figures.keys()


def test_sizes_below_one_are_refused():
    with pytest.raises(InputError, match="sizes of 1 or more, not held_out=0, candidates=-1"):
        study.mah_dpo_guided(held_out=0, candidates=-1)
