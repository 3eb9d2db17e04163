import time
from pathlib import Path

import pytest

from handaxe.core.errors import HandaxeError
from handaxe.testing.crash import kill_self_at, kill_until_done, run_until_killed

HERE = Path(__file__)


def count_to(folder, goal, pause):
    """Continue counting, one file a number."""
    done = len(list(folder.iterdir()))
    for number in range(done, goal):
        time.sleep(pause)
        (folder / str(number)).touch()


def fail(folder):
    raise SystemExit(3)


@pytest.mark.slow
def test_kill_until_done_counts_kills(tmp_path):
    kill_until_done(HERE, "count_to", (tmp_path, 0, 0.0), after=[])  # the server has started now
    kills = kill_until_done(HERE, "count_to", (tmp_path, 4, 0.5), after=[0.2, 0.2])
    assert kills == 2 and len(list(tmp_path.iterdir())) == 4
    assert kill_until_done(HERE, "count_to", (tmp_path, 4, 0.0), after=[60]) == 0


def test_failing_or_hanging_child_raises(tmp_path):
    with pytest.raises(HandaxeError, match="exit code 3"):
        kill_until_done(HERE, "fail", (tmp_path,), after=[])
    with pytest.raises(HandaxeError, match="not done in"):
        kill_until_done(HERE, "count_to", (tmp_path, 1, 60.0), after=[], limit=0.1)


def die_third(folder, count):
    """Write a line each time except the third."""
    die = kill_self_at(count)
    for line in "abc":
        die()
        with open(Path(folder) / "lines", "a") as file:
            file.write(line)


def test_child_kills_itself_at_a_given_call(tmp_path):
    run_until_killed(HERE, "die_third", (tmp_path, 3))
    assert (tmp_path / "lines").read_text() == "ab"
    with pytest.raises(HandaxeError, match="was not killed: it ended with exit code 0"):
        run_until_killed(HERE, "die_third", (tmp_path, 0))
