from handaxe.cli import main


def test_a_run_becomes_one_file(finished, tmp_path, capsys):
    file = tmp_path / "first.html"
    assert main(["report", str(finished), "--out", str(file)]) == 0
    assert "every attempt in full" in capsys.readouterr().out
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "<title>first - handaxe</title>" in text


def test_what_cannot_be_reported_is_said(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "r.html")]) == 2
    assert "there is no run" in capsys.readouterr().err
    assert main(["report", str(tmp_path), "--megabytes", "-1"]) == 2
