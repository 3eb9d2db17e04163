import json

from handaxe.cli import main
from handaxe.methods.catalog import list_studies


def test_study_prints_figures_and_verdicts(tmp_path, capsys):
    assert main(["study", "ta_mdp", "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["study"] == "ta_mdp"
    assert set(found["figures"]) == {"uncorrelated", "uncorrelated_equal", "correlated_equal", "small_groups"}
    assert [one["verdict"] for one in found["verdicts"]] == ["does not hold", "holds", "holds", "does not hold"]
    shown = " ".join(capsys.readouterr().out.split())
    first = found["verdicts"][0]
    assert f"does not hold: {first['text']} (uncorrelated at most 1)" in shown


def test_unknown_study_is_an_error(capsys):
    assert main(["study", "nothing"]) == 2
    shown = capsys.readouterr().err
    assert "there is no study 'nothing'; there are adas, android_world, " in shown and "ta_mdp" in shown


def test_options_of_a_study_are_options_of_the_command(tmp_path, capsys):
    assert main(["study", "crome", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "--held-out INT" in shown and "tasks of a seed that measure" in shown and "--json" in shown
    found = tmp_path / "found.json"
    assert main(["study", "ta_mdp", "--json", str(found)]) == 0 and "options" not in json.loads(found.read_text())
    assert main(["study", "ta_mdp", "--small", "5", "--json", str(found)]) == 0
    assert json.loads(found.read_text())["options"] == {"small": 5}


def test_a_wrong_option_of_a_study_is_an_error(capsys):
    assert main(["study", "crome", "--heldout", "3"]) == 2
    assert "--held-out" in capsys.readouterr().err


def test_study_without_a_name_lists_the_studies(capsys):
    assert main(["study", "--help"]) == 0
    assert "crome" in capsys.readouterr().out


def test_the_result_of_a_study_names_the_study():
    results = {one.name: json.loads(one.result_file.read_text()) for one in list_studies() if one.result_file.exists()}
    assert len(results) > 50 and all(found["study"] == name for name, found in results.items())
