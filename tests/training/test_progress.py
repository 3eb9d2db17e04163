import io

from rich.console import Console

from handaxe.training.progress import Bar


def console(terminal):
    return Console(file=io.StringIO(), force_terminal=terminal, width=120)


def test_a_log_file_gets_one_plain_line_a_step():
    out = console(False)
    with Bar(5, done=3, console=out) as bar:
        bar.inside("sampling", 1, 2)
        bar.step({"reward": 0.51234, "loss": 2.0}, ("reward", "missing"))
        bar.step({"reward": 1.0}, ("reward",))
    lines = out.file.getvalue().splitlines()
    assert lines[0].startswith("step 4/5  reward 0.512  ") and lines[0].endswith("s left")
    assert lines[1] == "step 5/5  reward 1  0 s left" and len(lines) == 2


def test_a_terminal_gets_a_bar():
    out = console(True)
    with Bar(2, console=out, title="sft") as bar:
        bar.step({"loss": 0.25}, ("loss",))
    text = out.file.getvalue()
    assert "sft" in text and "1/2" in text and "loss 0.25" in text and "left" in text


def test_nothing_is_shown_when_nothing_is_asked_for():
    for terminal in (True, False):
        out = console(terminal)
        with Bar(2, enabled=False, console=out) as bar:
            bar.inside("sampling", 1, 2)
            bar.step({"loss": 0.25}, ("loss",))
        assert out.file.getvalue() == ""
