import json

from handaxe.cli import main


def test_study_prints_figures_and_verdicts(tmp_path, capsys):
    assert main(["study", "ta_mdp", "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert set(found["figures"]) == {"uncorrelated", "uncorrelated_equal", "correlated_equal", "small_groups"}
    assert [one["verdict"] for one in found["verdicts"]] == ["does not hold", "holds", "holds", "does not hold"]
    shown = " ".join(capsys.readouterr().out.split())
    first = found["verdicts"][0]
    assert f"does not hold: {first['text']} (uncorrelated at most 1)" in shown


def test_unknown_study_is_an_error(capsys):
    assert main(["study", "nothing"]) == 2
    shown = capsys.readouterr().err
    assert "there is no study 'nothing'; there are adas, android_world, " in shown and "ta_mdp" in shown
