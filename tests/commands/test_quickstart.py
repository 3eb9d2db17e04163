from handaxe.cli import main


def test_quickstart_trains_and_prints_a_rollout(small_model, tmp_path, capsys):
    words = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--max-tokens", "8"]
    out = tmp_path / "quick"
    assert main(["quickstart", "--model", str(small_model), *words, "--out", str(out), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "2 held-out tasks" in shown and "pass@1" in shown
    assert "<USER>" in shown and f"handaxe show {out}" in shown
