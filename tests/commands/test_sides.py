from dataclasses import replace

import pytest

from handaxe.commands.compare import CompareOptions
from handaxe.commands.configure import parse_train
from handaxe.commands.replicate import ReplicateOptions
from handaxe.commands.sides import make_job, side, split_options
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.run_spec import base_spec


def test_side_is_a_method_with_options():
    one = side("otc --smooth 2", ["--steps", "3"])
    assert one.name == "otc --smooth 2" and one.spec.settings.steps == 3
    assert one.spec.options[""] == {"smooth": 2.0}


def test_side_of_another_method_takes_world_and_settings():
    ours = side("otc", ["--steps", "3"])
    other = side("ppo --lam 0.5", ["--steps", "3"], like=ours)
    assert other.spec.settings == ours.spec.settings and other.spec.settings.model == "start"
    assert other.spec.template.world.name == "arithmetic" and other.spec.options[""]["lam"] == 0.5
    assert side("retool --tools", like=side("retool")).spec.settings.tools == ()


def test_explicit_options_of_another_method_are_kept_also_if_they_equal_its_defaults():
    ours = side("otc", ["--steps", "3", "--engine.max-rows", "7"])
    assert side("no_training --model smollm2 --max-turns=2", like=ours).spec.settings == replace(
        ours.spec.settings, model="smollm2", max_turns=2
    )
    assert side("no_training --model tiny", like=ours).spec.settings.model == "tiny"
    elsewhere = side("ppo --world gym --world.noise 0.5", like=ours).spec
    assert elsewhere.template.world.name == "gym" and elsewhere.options["world"]["noise"] == 0.5
    assert elsewhere.options["engine"] == ours.spec.options["engine"] and elsewhere.settings == ours.spec.settings
    assert side("ppo --engine.max-rows 9", like=ours).spec.options["engine"]["max_rows"] == 9


def test_side_of_the_base_has_equal_world_and_settings():
    ours = side("otc", ["--steps", "3"])
    base = ours.of(base_spec(ours.spec))
    assert base.name == "grpo_no_kl" and base.spec.settings == ours.spec.settings
    assert base.spec.template.world.name == "arithmetic"


def test_folder_of_a_run_depends_on_all_arguments(tmp_path):
    same = {
        make_job(side(words, ["--steps", "3"]), 5, tmp_path).folder
        for words in ("otc", "otc --smooth 3", "otc --smooth 3.0")
    }
    assert len(same) == 1
    others = {make_job(side("otc --smooth 2", ["--steps", "3"]), 5, tmp_path).folder}
    others |= {
        make_job(side("otc", ["--steps", "4"]), 5, tmp_path).folder,
        make_job(side("otc", ["--steps", "3"]), 6, tmp_path).folder,
    }
    others |= {make_job(side("otc", ["--steps", "3"]).permuted(), 5, tmp_path).folder}
    assert len(others | same) == 5


def test_job_starts_the_spec_of_the_side(tmp_path):
    one = side("otc --smooth 2", ["--steps", "3", "--groups", "2"])
    job = make_job(one, 7, tmp_path)
    config = ["--config", str(tmp_path / f"{job.folder.name}.json")]
    spec = parse_train("", config, prog="handaxe train", also={})[0]
    assert spec.arguments() == {**one.spec.arguments(), "seed": 7}
    assert job.words == ("train", str(tmp_path / f"{job.folder.name}.json")) and job.steps == 3


def test_wrong_sides_raise(tmp_path):
    with pytest.raises(InputError, match="a method and its options"):
        side("")
    with pytest.raises(MethodError, match="did you mean"):
        side("otcc")


def test_options_of_train_are_split_from_those_of_the_command():
    words = "grpo dapo --steps 5 --seeds 2 --world.digits=3 --tools a b --metrics calls tokens --no-permute-rewards"
    own, other = split_options(words.split(), CompareOptions)
    assert own == ["grpo", "dapo", "--seeds", "2", "--metrics", "calls", "tokens"]
    assert other == ["--steps", "5", "--world.digits=3", "--tools", "a", "b", "--no-permute-rewards"]
    assert split_options(["--all", "--help"], ReplicateOptions) == (["--all", "--help"], [])
    with pytest.raises(InputError, match="--seed does not fit: the runs have the seeds from --first-seed on"):
        split_options(["otc", "--seed", "3"], ReplicateOptions)


def test_options_of_train_apply_to_every_side():
    of_runs = ["--steps", "5", "--world", "gym", "--schedule", "cosine"]
    ours = side("otc", of_runs)
    other = side("dapo --rounds 2", of_runs, like=ours)
    assert other.spec.settings == ours.spec.settings and ours.spec.settings.schedule == "cosine"
    assert other.spec.template.world.name == "gym" and other.spec.options[""]["rounds"] == 2
