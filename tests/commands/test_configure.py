import dataclasses
import json

import pytest

from handaxe.commands.configure import Names, option_names, parse_train
from handaxe.commands.doctor import DoctorOptions
from handaxe.commands.eval import EvalOptions
from handaxe.commands.resume import ResumeOptions
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.hardware import Machines
from handaxe.methods.limits import flag
from handaxe.methods.method import RunSettings
from handaxe.methods.run_folder import spec_in_file


def chosen(recipe, *words):
    return parse_train(recipe, list(words), prog="handaxe train", also={"run": RunOptions})


def test_own_options_and_settings_are_flat_and_the_others_nested():
    words = "--smooth 2 --steps 30 --base dapo --base.rounds 4 --world gym --world.last-number --engine.max-rows 32"
    found, more = chosen("otc", *words.split(), "--quiet")
    assert found.options[""] == {"smooth": 2.0} and found.settings.steps == 30
    assert found.template.base.name == "dapo" and found.options["base"]["rounds"] == 4
    assert found.template.world.name == "gym" and found.options["world"]["last_number"] is True
    assert found.options["engine"]["max_rows"] == 32 and more["run"].quiet


def test_the_recipes_setting_and_base_stand_unless_told_otherwise():
    found, _ = chosen("retool")
    assert found.settings.tools == ("python",) and found.options["base"]["lam"] == 1.0
    found, _ = chosen("retool", "--base.lam", "0.5", "--steps", "3")
    assert found.settings.tools == ("python",) and found.options["base"]["lam"] == 0.5
    assert chosen("retool", "--base", "ppo")[0].options["base"]["lam"] == 1.0


def test_tools_with_nothing_after_it_offers_none():
    assert chosen("retool", "--tools")[0].settings.tools == ()
    assert chosen("retool", "--tools", "None")[0].settings.tools is None
    assert chosen("otc", "--tools", "python", "mine:convert")[0].settings.tools == ("python", "mine:convert")


def test_where_a_run_computes_is_asked_without_a_prefix():
    words = ("--trainers", "2", "--servers", "http://a:1", "http://b:2", "--ray", "local")
    assert chosen("otc", *words)[1]["run"].machines == Machines(2, ("http://a:1", "http://b:2"), ray="local")
    own = chosen("otc", "--servers", "1", "--server-options=--enforce-eager --seed 3")[1]["run"].machines
    assert own == Machines(servers=("1",), server_options="--enforce-eager --seed 3")
    assert not chosen("otc")[1]["run"].machines
    for kind in (RunOptions, DoctorOptions, ResumeOptions, EvalOptions):
        assert {"trainers", "servers", "server_options", "ray"} <= set(
            option_names(kind)
        ) and "machines" not in option_names(kind)


OWN = """from handaxe.methods.method import Method


def own(base: Method, *, {name}: int = 0) -> Method:
    return base
"""


@pytest.mark.parametrize("name", ["quiet", "trainers", "steps", "world"])
def test_a_recipe_with_an_option_of_the_name_of_another(name, tmp_path, monkeypatch):
    (tmp_path / f"own_{name}.py").write_text(OWN.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MethodError, match=f"has an argument '{name}', and so has"):
        chosen(f"own_{name}:own", "--world", "sums")


def test_none_lifts_a_bound():
    found, _ = chosen("agentmath", "--segment-tokens", "None", "--segment-calls", "2")
    given = {"segment_tokens": None, "segment_calls": 2}
    assert given.items() <= found.options[""].items()


@pytest.mark.parametrize(
    "words", [("--stepz", "3"), ("--steps", "three"), ("--base.gone", "3"), ("stray",), ("--world.names", "gcd")]
)
def test_what_does_not_parse_exits_with_2(words, capsys):
    with pytest.raises(SystemExit) as stop:
        chosen("otc", *words)
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert words[-1] in shown.out + shown.err


def test_an_option_that_a_world_needs(capsys):
    with pytest.raises(SystemExit) as stop:
        chosen("otc", "--world", "jsonl")
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert "--world.file" in shown.out + shown.err


def test_help_shows_the_options_of_what_was_picked(capsys):
    with pytest.raises(SystemExit) as stop:
        chosen("otc", "--base", "dapo", "--help")
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "--base.length-cache INT" in shown and "how slowly the efficiency falls" in shown
    assert "--base STR" in shown and "(default: dapo)" in shown


def test_names_that_stand_for_nothing():
    with pytest.raises(InputError, match="no world 'nowhere'"):
        chosen("otc", "--world", "nowhere")
    with pytest.raises(MethodError, match="no recipe 'nowhere'"):
        chosen("otc", "--base", "nowhere")
    assert Names() == Names(base="", world="", engine="local")


@pytest.mark.parametrize("field", dataclasses.fields(RunSettings), ids=lambda field: field.name)
def test_a_setting_out_of_range_is_told_in_the_words_of_the_command_line(field, capsys):
    """Every number there is; none may be less than 0, but the seed."""
    if type(field.default) not in (int, float) or field.name == "seed":
        return
    with pytest.raises(InputError, match=rf"^{flag(field.name)} is -1; give [01] or more$"):
        parse_train("grpo", [f"{flag(field.name)}=-1"], prog="handaxe train grpo", also={})


def test_a_setting_of_a_run_that_is_read_back_is_looked_at_too(tmp_path):
    file = tmp_path / "recipe.json"
    chosen = parse_train("grpo", [], prog="handaxe train grpo", also={})[0]
    file.write_text(json.dumps({"recipe": {"name": "grpo", "arguments": {**chosen.arguments(), "max_turns": 0}}}))
    with pytest.raises(InputError, match="^--max-turns is 0; give 1 or more$"):
        spec_in_file(file)
