"""`handaxe prompts`: the list, a prompt, and a file of one's own."""

from handaxe.cli import main


def test_prompts_are_listed_and_printed(capsys, tmp_path):
    assert main(["prompts"]) == 0
    listed = capsys.readouterr().out
    assert "check" in listed and "step" in listed
    assert main(["prompts", "step"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("step@1, sha256 ") and "\n{{user}}\nTask: {{task}}\n" in shown
    assert main(["prompts", "step", "--terse"]) == 0 and capsys.readouterr().out.startswith("step.terse@1")
    mine = tmp_path / "mine.md"
    mine.write_text('+++\nid = "mine"\nversion = 2\nquoted = ["turn"]\n+++\n{{user}}\n{{turn}} \x1b[31m[bold]\n')
    assert main(["prompts", str(mine)]) == 0
    shown = capsys.readouterr().out
    assert "mine@2" in shown and "\x1b" not in shown and "[bold]" in shown


def test_an_unknown_prompt_is_one_sentence(capsys):
    assert main(["prompts", "chek"]) == 2
    assert (
        "there is no prompt 'chek'; there are advise, answer, check, correct_call, corrupt, grade"
        in capsys.readouterr().err
    )
