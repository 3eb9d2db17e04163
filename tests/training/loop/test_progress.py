import io
import time

import pytest
from rich.console import Console

from handaxe.training.loop.progress import Bar, clock_time, fitted, is_live, ticking


class Terminal(io.StringIO):
    def isatty(self):
        return True


def console(width=120):
    """Of a log file, on which a user may have forced colours."""
    return Console(file=io.StringIO(), width=width, color_system="truecolor", force_terminal=True)


class Watch:
    """A clock that goes on when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_the_documented_examples():
    assert fitted(["step 2/9", "0:14 left", "reward 0.656"], 30) == "step 2/9  0:14 left"
    assert (clock_time(65), clock_time(7384), clock_time(0.4)) == ("1:05", "2:03:04", "0:00")


@pytest.mark.parametrize("width", range(1, 60))
def test_no_word_is_cut_but_the_first(width):
    pieces = ["step 2/9", "0:14 left", "", "reward 0.656", "calls 1.5"]
    line = fitted(pieces, width)
    assert len(line) <= width
    assert line == "step 2/9"[:width] or line.split("  ") == [one for one in pieces if one][: len(line.split("  "))]


def test_a_log_file_gets_a_short_line_every_so_often():
    out, clock = console(), Watch()
    with Bar(100, done=3, console=out, clock=clock) as bar:
        for _ in range(97):
            bar.inside("sampling", 1, 2)
            clock.now += 1
            bar.step(["reward 0.512", "x" * 80, "y" * 80])
    lines = out.file.getvalue().splitlines()
    assert lines[0] == f"step 4/100  0:01 so far  reward 0.512  {'x' * 80}"
    assert lines[-1].startswith("step 100/100  in 1:37  reward 0.512")
    assert 9 <= len(lines) <= 12 and max(map(len, lines)) <= 120 and all(line.isprintable() for line in lines)


def test_a_log_file_hears_of_a_long_evaluation_too():
    out, clock = console(), Watch()
    with Bar(2, console=out, clock=clock) as bar:
        for over in range(1, 41):
            clock.now += 1
            bar.inside("evaluating", over, 40)
        bar.begin()
        clock.now += 2
        bar.step()
    lines = out.file.getvalue().splitlines()
    assert lines[0] == "step 0/2  0:10 so far  evaluating 10/40" and len(lines) == 5
    assert lines[-1] == "step 1/2  0:02 left", "what came before the first step tells nothing of the time left"


STEP = "step 1/30  0:00 left"
AT_WIDTH = {
    15: "step 1/30",
    30: STEP,
    40: f"{STEP}  sampling 34/96",
    60: f"{STEP}  reward 0.656  sampling 34/96",
    80: f"{STEP}  reward 0.656  pass@1 0.71  calls 1.21  sampling 34/96",
    120: f"{STEP}  reward 0.656  pass@1 0.71  calls 1.21  tokens 34.5  sampling 34/96",
}


@pytest.mark.parametrize("width", AT_WIDTH)
def test_a_terminal_gets_one_line_that_fits(width):
    out = Console(file=Terminal(), force_terminal=True, width=width)
    assert is_live(out) and not is_live(console())
    with Bar(30, console=out, clock=Watch()) as bar:
        bar.step(["reward 0.656", "pass@1 0.71", "calls 1.21", "tokens 34.5"])
        bar.inside("sampling", 34, 96)
        assert bar._render().plain == AT_WIDTH[width]
    assert "step 1/30" in out.file.getvalue()


def test_what_is_said_stands_in_a_line_of_its_own_and_is_not_obeyed():
    for out in (console(40), Console(file=Terminal(), force_terminal=True, width=400)):
        for enabled in (True, False):
            with Bar(2, enabled=enabled, console=out) as bar:
                bar.say("tool 'a' said \x1b[2J[red]" + "x" * 60)
        assert out.file.getvalue().count("tool 'a' said \\x1b[2J[red]" + "x" * 60) == 2


def test_nothing_is_shown_when_nothing_is_asked_for():
    for out in (console(), Console(file=Terminal(), force_terminal=True)):
        with Bar(2, enabled=False, console=out) as bar:
            bar.inside("sampling", 1, 2)
            bar.step(["reward 0.25"])
        assert out.file.getvalue() == ""


@pytest.mark.parametrize(("width", "second"), [(20, "  ..eed 7, step 2/9"), (80, "  grpo, seed 7, step 2/9")])
def test_what_is_at_work_stands_below_and_keeps_its_end(width, second):
    out = Console(file=Terminal(), force_terminal=True, width=width)
    with Bar(30, done=3, console=out, clock=Watch()) as bar:
        bar.reach(5, ["1 of 3 runs done"], under=["grpo, seed 7, step 2/9"])
        first, below = bar._render().plain.split("\n")
    assert first.startswith("step 5/30") and len(below) < width and below == second
    file, clock = console(), Watch()
    with Bar(30, done=3, console=file, clock=clock) as bar:
        for done in (3, 3, 5, 30, 30):
            clock.now += 4
            bar.reach(done, ["1 of 3 runs done"], under=["grpo, seed 7"])
    lines = file.file.getvalue().splitlines()
    assert lines[0] == "step 5/30  2:30 left  1 of 3 runs done  grpo, seed 7" and len(lines) == 2


def test_the_time_left_goes_down_while_a_step_is_at_work():
    out, clock = Console(file=Terminal(), force_terminal=True, width=80), Watch()
    with Bar(4, console=out, clock=clock) as bar:
        clock.now = 10
        bar.step()
        for now, left in ((10, "0:30"), (14, "0:26"), (60, "0:20")):
            clock.now = now
            assert bar._render().plain == f"step 1/4  {left} left"


def test_a_display_without_a_number_of_steps_tells_the_time():
    out, clock = console(), Watch()
    with Bar(None, title="study", console=out, clock=clock) as bar:
        for _ in range(25):
            clock.now += 1
            bar.tick()
    assert out.file.getvalue().splitlines() == ["study  0:10 so far", "study  0:20 so far"]


def test_a_display_within_another_one_is_shown_alone():
    out, clock = console(), Watch()
    with Bar(None, title="study", console=out, clock=clock) as outer:
        with Bar(2, console=out, clock=clock) as inner:
            clock.now += 11
            outer.tick()
            inner.step()
        with Bar(2, enabled=False, console=out, clock=clock):
            outer.tick()
    assert out.file.getvalue().splitlines() == ["step 1/2  0:11 left", "study  0:11 so far"]


def test_a_terminal_shows_the_inner_display_and_then_the_outer_one_again():
    terminals = Console(file=Terminal(), force_terminal=True, width=60), Console(file=Terminal(), force_terminal=True)
    with Bar(None, title="study", console=terminals[0]) as outer:
        assert outer._drawn.is_started
        with pytest.raises(RuntimeError), Bar(2, console=terminals[1]) as inner:
            assert inner._drawn.is_started and not outer._drawn.is_started
            raise RuntimeError
        assert outer._drawn.is_started and not inner._drawn.is_started
    assert not outer._drawn.is_started


def test_the_time_is_told_while_other_code_computes():
    out, clock = console(), Watch()
    with Bar(None, title="study", console=out, clock=clock) as bar, ticking(bar, seconds=0.01):
        clock.now = 12.0
        for _ in range(3000):
            if out.file.getvalue():
                break
            time.sleep(0.01)
    assert out.file.getvalue() == "study  0:12 so far\n"
