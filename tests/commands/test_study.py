import json

from handaxe.cli import main


def test_ta_mdp_decides_what_arithmetic_says(tmp_path, capsys):
    """Uncorrelated parts are not enough, equal spreads are, and neither helps a small group."""
    assert main(["study", "ta_mdp", "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert set(found["figures"]) == {"uncorrelated", "uncorrelated_equal", "correlated_equal", "small_groups"}
    assert [one["verdict"] for one in found["verdicts"]] == ["does not hold", "holds", "holds", "does not hold"]
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "does not hold: Normalising apart is harmless where parts are uncorrelated. (uncorrelated at most 1)" in shown
    )


def test_an_unknown_study(capsys):
    assert main(["study", "nothing"]) == 2
    assert "there are asearcher_questions, calm_judge, scribe_judge, ta_mdp" in capsys.readouterr().err
