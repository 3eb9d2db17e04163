"""Desks of roles that write texts."""

import pytest

from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.methods.text_source import check_text_source, text_desk
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.training.stages.context import make_site


@pytest.mark.parametrize("source", ["trained", "head:tiny"])
def test_taught_sources_write_no_texts(source):
    with pytest.raises(InputError, match=f"--refiner {source}: texts are written"):
        check_text_source(source, option="--refiner")


def test_unknown_sources_are_refused():
    with pytest.raises(InputError, match="nowhere"):
        check_text_source("nowhere", option="--refiner")


def test_the_rule_has_no_desk_and_the_policy_answers_with_its_weights(world, tmp_path):
    engine = LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=160), seed=0))
    site = make_site(engine=engine, format=world.FORMAT, out=tmp_path / "stage")
    assert text_desk("rule", site, option="--refiner") is None
    own, start = (text_desk(one, site, option="--refiner").answerer for one in ("self", "self@start"))
    assert isinstance(own, PolicyAnswerer) and own.engine is engine and start.engine is not engine
    assert (tmp_path / "stage" / "refiner.sqlite").is_file()


def test_errors_name_the_option_of_the_role(world):
    site = make_site(engine=world.Talking(str), format=world.FORMAT)._replace(engine=object())
    with pytest.raises(InputError, match="so --refiner self@start has no copy"):
        text_desk("self@start", site, option="--refiner")
