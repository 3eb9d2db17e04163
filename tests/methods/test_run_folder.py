import json

import pytest

from handaxe.cli import main
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.run_folder import recorded_method, recorded_run


def rewrite(run, change):
    file = run / "recipe.json"
    about = json.loads(file.read_text())
    change(about)
    file.write_text(json.dumps(about))


def test_method_and_arguments_come_back_with_their_types(run, small_model):
    found = recorded_run(run)
    assert found.spec.name == "otc" and found.command.startswith("handaxe train otc")
    assert found.spec.options[""] == {"smooth": 2.0} and found.spec.settings.model == str(small_model)
    assert recorded_run(run, changes={"steps": 9}).spec.settings.steps == 9


def test_base_of_another_name_is_refused_with_its_options(run):
    rewrite(run, lambda about: about["recipe"]["arguments"].update(base="dapo"))
    with pytest.raises(MethodError, match="base dapo takes no argument eps_high, minibatches"):
        recorded_run(run)


def test_run_of_an_earlier_version_raises_in_one_line_and_is_still_shown(run, capsys):
    old = {"model": "tiny", "names": ["sums"], "tools": ["calculator"], "steps": 2, "smooth": 3.0}
    rewrite(run, lambda about: about["recipe"].update(arguments=old))
    with pytest.raises(
        InputError,
        match="cannot go on in this version of handaxe: its method had no --world.*`handaxe train otc` starts",
    ):
        recorded_run(run)
    for command in ("eval", "resume", "replay"):
        assert main([command, str(run)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["show", str(run)]) == 0


def test_run_of_a_script_has_no_method(run):
    rewrite(run, lambda about: about.update(recipe=None))
    assert recorded_method(run) is None
    with pytest.raises(InputError, match="not made by a method of the command line"):
        recorded_run(run)


def test_method_that_no_longer_exists_is_named(run):
    rewrite(run, lambda about: about["recipe"].update(name="otcc"))
    with pytest.raises(MethodError, match="did you mean otc"):
        recorded_run(run)


def test_damaged_file_is_named(run):
    (run / "recipe.json").write_text("{")
    with pytest.raises(InputError, match=r"recipe\.json is damaged"):
        recorded_run(run)


def test_run_of_version_0_1_is_read_in_the_names_of_this_version(run):
    def older(about):
        arguments = about["recipe"]["arguments"]
        arguments.update(base="plain", others=arguments.pop("aux_policies"), shuffled=arguments.pop("permute_rewards"))

    expected = recorded_run(run).spec
    rewrite(run, older)
    assert recorded_run(run).spec == expected


def test_option_that_this_version_lacks_is_named_with_the_commands_that_read_the_run(run):
    rewrite(run, lambda about: about["recipe"]["arguments"].update(gone=1))
    with pytest.raises(MethodError, match="takes no argument gone.*`handaxe show`, `view`, `report`") as error:
        recorded_run(run)
    assert "\n" not in str(error.value)
