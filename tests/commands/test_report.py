from handaxe.cli import main


def test_report_writes_one_file(finished, tmp_path, capsys):
    file = tmp_path / "first.html"
    assert main(["report", str(finished), "--out", str(file)]) == 0
    assert "every rollout in full" in capsys.readouterr().out
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "<title>first - handaxe</title>" in text


def test_folder_without_runs_is_an_error(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "r.html")]) == 2
    assert "there is no run" in capsys.readouterr().err
    assert main(["report", str(tmp_path), "--megabytes", "-1"]) == 2
