import json
from dataclasses import replace

import pytest

from handaxe.commands.sides import job_of, side
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.run_folder import spec_in_file
from handaxe.methods.run_spec import spec_of_base


def test_a_side_is_a_recipe_and_its_options():
    one = side("otc --smooth 2", "--steps 3")
    assert one.name == "otc --smooth 2" and one.chosen.settings.steps == 3
    assert one.chosen.options[""] == {"smooth": 2.0}


def test_another_recipe_takes_over_world_and_settings_the_same_one_keeps_its_own():
    ours = side("otc", "--steps 3")
    other = side("ppo --lam 0.5", "--steps 3", setting_of=ours)
    assert other.chosen.settings == ours.chosen.settings and other.chosen.settings.model == "start"
    assert other.chosen.template.world.name == "sums" and other.chosen.options[""]["lam"] == 0.5
    assert side("retool --tools", setting_of=side("retool")).chosen.settings.tools == ()


def test_another_recipe_keeps_what_its_words_choose_also_where_that_is_its_own_default():
    ours = side("otc", "--steps 3 --engine.max-rows 7")
    assert side("frozen --model smollm2 --max-turns=2", setting_of=ours).chosen.settings == replace(
        ours.chosen.settings, model="smollm2", max_turns=2
    )
    assert side("frozen --model tiny", setting_of=ours).chosen.settings.model == "tiny"
    elsewhere = side("ppo --world gym --world.noise 0.5", setting_of=ours).chosen
    assert elsewhere.template.world.name == "gym" and elsewhere.options["world"]["noise"] == 0.5
    assert elsewhere.options["engine"] == ours.chosen.options["engine"] and elsewhere.settings == ours.chosen.settings
    assert side("ppo --engine.max-rows 9", setting_of=ours).chosen.options["engine"]["max_rows"] == 9


def test_the_base_is_measured_in_the_same_world_and_setting():
    ours = side("otc", "--steps 3")
    base = ours.like(spec_of_base(ours.chosen))
    assert base.name == "plain" and base.chosen.settings == ours.chosen.settings
    assert base.chosen.template.world.name == "sums"


def test_a_run_is_named_by_everything_that_was_chosen(tmp_path):
    same = {
        job_of(side(words, "--steps 3"), 5, tmp_path).folder for words in ("otc", "otc --smooth 3", "otc --smooth 3.0")
    }
    assert len(same) == 1
    others = {job_of(side("otc --smooth 2", "--steps 3"), 5, tmp_path).folder}
    others |= {
        job_of(side("otc", "--steps 4"), 5, tmp_path).folder,
        job_of(side("otc", "--steps 3"), 6, tmp_path).folder,
    }
    others |= {job_of(side("otc", "--steps 3").shuffled(), 5, tmp_path).folder}
    assert len(others | same) == 5


def test_what_a_run_is_begun_with_is_what_was_chosen(tmp_path):
    one = side("otc --smooth 2", "--steps 3 --groups 2")
    job = job_of(one, 7, tmp_path)
    chosen = spec_in_file(tmp_path / f"{job.folder.name}.json")
    assert chosen.arguments() == {**one.chosen.arguments(), "seed": 7}
    assert job.words == ("train", str(tmp_path / f"{job.folder.name}.json")) and job.steps == 3


def test_bad_words(tmp_path):
    with pytest.raises(InputError, match="a recipe and its options"):
        side("")
    with pytest.raises(MethodError, match="did you mean"):
        side("otcc")
    (tmp_path / "x.json").write_text(json.dumps({"recipe": None}))
    with pytest.raises(InputError, match="x.json is not the recipe.json"):
        spec_in_file(tmp_path / "x.json")
