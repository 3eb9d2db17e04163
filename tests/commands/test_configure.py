import pytest

from handaxe.commands.configure import Names, parse_train
from handaxe.commands.train import RunOptions
from handaxe.errors import InputError, RecipeError


def chosen(recipe, *words):
    return parse_train(recipe, list(words), prog="handaxe train", also={"run": RunOptions})


def test_own_options_and_settings_are_flat_and_the_others_nested():
    words = "--smooth 2 --steps 30 --base dapo --base.rounds 4 --world gym --world.last-number --engine.max-rows 32"
    found, more = chosen("otc", *words.split(), "--quiet")
    assert found.options[""] == {"smooth": 2.0} and found.setting.steps == 30
    assert found.choice.base.name == "dapo" and found.options["base"]["rounds"] == 4
    assert found.choice.world.name == "gym" and found.options["world"]["last_number"] is True
    assert found.options["engine"]["max_rows"] == 32 and more["run"].quiet


def test_the_recipes_setting_and_base_stand_unless_told_otherwise():
    found, _ = chosen("retool")
    assert found.setting.tools == ("python",) and found.options["base"]["lam"] == 1.0
    found, _ = chosen("retool", "--base.lam", "0.5", "--steps", "3")
    assert found.setting.tools == ("python",) and found.options["base"]["lam"] == 0.5
    assert chosen("retool", "--base", "ppo")[0].options["base"]["lam"] == 1.0


def test_tools_with_nothing_after_it_offers_none():
    assert chosen("retool", "--tools")[0].setting.tools == ()
    assert chosen("retool", "--tools", "None")[0].setting.tools is None
    assert chosen("otc", "--tools", "python", "mine:convert")[0].setting.tools == ("python", "mine:convert")


def test_none_lifts_a_bound():
    found, _ = chosen("agentmath", "--segment-tokens", "None", "--segment-calls", "2")
    assert found.options[""] == {"segment_tokens": None, "segment_calls": 2}


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
    with pytest.raises(RecipeError, match="no recipe 'nowhere'"):
        chosen("otc", "--base", "nowhere")
    assert Names() == Names(base="", world="", engine="local")
