import json

import pytest

from handaxe.cli import main
from handaxe.core.errors import InputError, RecipeError
from handaxe.methods.run_folder import recorded_method, recorded_run


def rewrite(run, change):
    file = run / "recipe.json"
    about = json.loads(file.read_text())
    change(about)
    file.write_text(json.dumps(about))


def test_recipe_and_arguments_come_back_with_their_types(run, small_model):
    found = recorded_run(run)
    assert found.chosen.name == "otc" and found.command.startswith("handaxe train otc")
    assert found.chosen.options[""] == {"smooth": 2.0} and found.chosen.settings.model == str(small_model)
    assert recorded_run(run, changes={"steps": 9}).chosen.settings.steps == 9


def test_the_base_comes_back_by_name(run):
    rewrite(run, lambda about: about["recipe"]["arguments"].update(base="dapo"))
    with pytest.raises(RecipeError, match="base dapo takes no argument eps_high, minibatches"):
        recorded_run(run)


def test_a_run_of_an_earlier_version_is_refused_in_one_line_and_still_shown(run, capsys):
    old = {"model": "tiny", "names": ["sums"], "tools": ["calculator"], "steps": 2, "smooth": 3.0}
    rewrite(run, lambda about: about["recipe"].update(arguments=old))
    with pytest.raises(InputError, match="made by an earlier version of handaxe.*`handaxe train otc` starts a new one"):
        recorded_run(run)
    for command in ("eval", "resume", "replay"):
        assert main([command, str(run)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["show", str(run)]) == 0


def test_no_recipe(run):
    rewrite(run, lambda about: about.update(recipe=None))
    assert recorded_method(run) is None
    with pytest.raises(InputError, match="not made by a recipe"):
        recorded_run(run)


def test_a_recipe_that_is_gone(run):
    rewrite(run, lambda about: about["recipe"].update(name="otcc"))
    with pytest.raises(RecipeError, match="did you mean otc"):
        recorded_run(run)


def test_a_damaged_file(run):
    (run / "recipe.json").write_text("{")
    with pytest.raises(InputError, match=r"recipe\.json is damaged"):
        recorded_run(run)
