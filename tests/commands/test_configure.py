import dataclasses
import json

import pytest

from handaxe.commands.configure import Names, option_names, parse_train
from handaxe.commands.doctor import DoctorOptions
from handaxe.commands.eval import EvalOptions
from handaxe.commands.resume import ResumeOptions
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.flags import flag
from handaxe.methods.hardware import Machines
from handaxe.methods.method import RunSettings


def parse(method, *words):
    return parse_train(method, list(words), prog="handaxe train", also={"run": RunOptions})


def test_options_of_the_method_and_settings_are_flat_and_other_options_have_a_prefix():
    words = "--smooth 2 --steps 30 --base dapo --base.rounds 4 --world gym --world.last-number --engine.max-rows 32"
    found, more = parse("otc", *words.split(), "--quiet")
    assert found.options[""] == {"smooth": 2.0} and found.settings.steps == 30
    assert found.template.base.name == "dapo" and found.options["base"]["rounds"] == 4
    assert found.template.world.name == "gym" and found.options["world"]["last_number"] is True
    assert found.options["engine"]["max_rows"] == 32 and more["run"].quiet


def test_settings_and_base_of_the_page_are_defaults():
    found, _ = parse("retool")
    assert found.settings.tools == ("python",) and found.options["base"]["lam"] == 1.0
    found, _ = parse("retool", "--base.lam", "0.5", "--steps", "3")
    assert found.settings.tools == ("python",) and found.options["base"]["lam"] == 0.5
    assert parse("retool", "--base", "ppo")[0].options["base"]["lam"] == 1.0


def test_tools_without_a_name_offers_no_tool():
    assert parse("retool", "--tools")[0].settings.tools == ()
    assert parse("retool", "--tools", "None")[0].settings.tools is None
    assert parse("otc", "--tools", "python", "mine:convert")[0].settings.tools == ("python", "mine:convert")


def test_machines_are_options_without_a_prefix():
    words = ("--trainers", "2", "--servers", "http://a:1", "http://b:2", "--ray", "local")
    assert parse("otc", *words)[1]["run"].machines == Machines(2, ("http://a:1", "http://b:2"), ray="local")
    own = parse("otc", "--servers", "1", "--server-options=--enforce-eager --seed 3")[1]["run"].machines
    assert own == Machines(servers=("1",), server_options="--enforce-eager --seed 3")
    assert not parse("otc")[1]["run"].machines
    for kind in (RunOptions, DoctorOptions, ResumeOptions, EvalOptions):
        assert {"trainers", "servers", "server_options", "ray"} <= set(
            option_names(kind)
        ) and "machines" not in option_names(kind)


OWN = """from handaxe.methods.method import Method


def own(base: Method, *, {name}: int = 0) -> Method:
    return base
"""


@pytest.mark.parametrize("name", ["quiet", "trainers", "steps", "world"])
def test_option_of_a_method_with_the_name_of_another_option_raises(name, tmp_path, monkeypatch):
    (tmp_path / f"own_{name}.py").write_text(OWN.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MethodError, match=f"has an argument '{name}', and so has"):
        parse(f"own_{name}:own", "--world", "arithmetic")


def test_none_removes_a_limit():
    found, _ = parse("agentmath", "--segment-tokens", "None", "--segment-calls", "2")
    given = {"segment_tokens": None, "segment_calls": 2}
    assert given.items() <= found.options[""].items()


@pytest.mark.parametrize(
    "words", [("--stepz", "3"), ("--steps", "three"), ("--base.gone", "3"), ("stray",), ("--world.names", "gcd")]
)
def test_parse_error_exits_with_2(words, capsys):
    with pytest.raises(SystemExit) as stop:
        parse("otc", *words)
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert words[-1] in shown.out + shown.err


def test_missing_required_option_of_a_world_exits_with_2(capsys):
    with pytest.raises(SystemExit) as stop:
        parse("otc", "--world", "jsonl")
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert "--world.file" in shown.out + shown.err


def test_help_shows_the_options_of_the_named_base(capsys):
    with pytest.raises(SystemExit) as stop:
        parse("otc", "--base", "dapo", "--help")
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "--base.length-cache INT" in shown and "how slowly the efficiency falls" in shown
    assert "--base STR" in shown and "(default: dapo)" in shown


def test_unknown_names_raise():
    with pytest.raises(InputError, match="no world 'nowhere'"):
        parse("otc", "--world", "nowhere")
    with pytest.raises(MethodError, match="no method 'nowhere'"):
        parse("otc", "--base", "nowhere")
    assert Names() == Names(base="", world="", engine="", config=None)


@pytest.mark.parametrize("field", dataclasses.fields(RunSettings), ids=lambda field: field.name)
def test_setting_out_of_range_is_named_by_its_flag(field, capsys):
    """No number may be negative except the seed."""
    if type(field.default) not in (int, float) or field.name == "seed":
        return
    with pytest.raises(InputError, match=rf"^{flag(field.name)} is -1; give [01] or more$"):
        parse_train("grpo", [f"{flag(field.name)}=-1"], prog="handaxe train grpo", also={})


def test_settings_of_a_recipe_json_are_checked(tmp_path):
    file = tmp_path / "recipe.json"
    spec = parse_train("grpo", [], prog="handaxe train grpo", also={})[0]
    file.write_text(json.dumps({"recipe": {"name": "grpo", "arguments": {**spec.arguments(), "max_turns": 0}}}))
    with pytest.raises(InputError, match="^--max-turns is 0; give 1 or more$"):
        parse_train("", ["--config", str(file)], prog="handaxe train", also={})
