"""Path of a newcomer: two tools and a question file of their own, trained, then used from another folder."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

TOOLS = '''
from pathlib import Path

from handaxe.tools import tool

PRICES = {f"item{k}": 3 * k + 1 for k in range(1, 41)}


@tool
def price(item: str) -> str:
    """Price of an item in euros.

    Args:
        item: name of the item.
    """
    return str(PRICES.get(item, 0))


@tool
def total(amount: int, price: int) -> str:
    """Total price of an order.

    Args:
        amount: number of pieces.
        price: price of a piece.
    """
    return str(amount * price)
'''
SHORT = ["--steps", "2", "--groups", "2", "--group-size", "2", "--held-out", "4", "--quiet"]
QUESTION = "cost of 3 item4?"


def handaxe(words, folder, *, code=0):
    """Run a command in a folder as its own process; returns stdout and stderr."""
    env = {**os.environ, "HANDAXE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "handaxe", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), (words, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def hint(output, label):
    """The words of a printed command, without the name of the program."""
    (line,) = re.findall(rf"^{label} +handaxe (.*)$", output, re.MULTILINE)
    return shlex.split(line)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Folder with tools and 400 questions; its name and the file's name have a space."""
    home = tmp_path_factory.mktemp("newcomer") / "my shop"
    home.mkdir()
    (home / "shop_tools.py").write_text(TOOLS)
    with (home / "shop questions.jsonl").open("w") as file:
        for k in range(1, 41):
            for n in range(1, 11):
                calls = [{"name": "price", "arguments": {"item": f"item{k}"}}]
                calls += [{"name": "total", "arguments": {"amount": n, "price": 3 * k + 1}}]
                row = {"question": f"cost of {n} item{k}?", "answer": n * (3 * k + 1), "calls": calls}
                file.write(json.dumps(row) + "\n")
    return home


@pytest.fixture(scope="module")
def trained(home):
    """The output of a run by the command that `start` prints."""
    world = ["jsonl", "--world.file", "shop questions.jsonl", "--world.score", "numeric_match"]
    tools = ["--tools", "shop_tools:price", "shop_tools:total"]
    words = ["start", *world, *tools, "--out", "a start", "--skill", "60", "--held-out", "4", "--quiet"]
    printed, _ = handaxe(words, home)
    output, _ = handaxe([*hint(printed, "train"), *SHORT, "--out", "runs/my run"], home)
    return output


@pytest.fixture
def elsewhere(home, trained, tmp_path):
    """Another folder with a copy of the run; the folder of the project stays where it was."""
    shutil.copytree(home / "runs" / "my run", tmp_path / "moved run")
    return tmp_path


def test_printed_hint_of_start_trains_in_the_same_world_with_the_same_tools(home, trained):
    recipe = json.loads((home / "runs" / "my run" / "recipe.json").read_text())["recipe"]
    assert recipe["arguments"]["world.file"] == "shop questions.jsonl"
    assert recipe["arguments"]["tools"] == ["shop_tools:price", "shop_tools:total"]
    assert recipe["arguments"]["model"] == "a start"


def test_every_printed_hint_of_train_runs_as_printed(home, trained):
    assert "rollout" in "".join(handaxe(hint(trained, "show"), home))
    _, calls = handaxe([*hint(trained, "chat"), QUESTION], home, code=(0, 1))
    assert "price(" in calls
    assert "4 held-out tasks" in handaxe(hint(trained, "evaluate"), home)[0]
    shutil.copytree(home / "runs" / "my run", home / "kept")
    assert "pass@1" in handaxe(hint(trained, "extend"), home)[0]
    shutil.rmtree(home / "runs" / "my run")
    (home / "kept").rename(home / "runs" / "my run")


def test_a_moved_run_is_used_from_another_folder(elsewhere):
    _, calls = handaxe(["chat", "moved run", QUESTION], elsewhere, code=(0, 1))
    assert 'price(item="item' in calls
    assert "3 held-out tasks" in handaxe(["eval", "moved run", "--tasks", "3"], elsewhere)[0]
    program = f"import handaxe as hx; print(*hx.use('moved run')({QUESTION!r}).calls)"
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    used = subprocess.check_output([sys.executable, "-c", program], cwd=elsewhere, env=env, text=True)
    assert "name='price'" in used and "status='ok'" in used
    assert "after 3 steps" in handaxe(["resume", "moved run", "--steps", "3", "--quiet"], elsewhere)[0]
    assert "4 held-out tasks" in handaxe(["eval", "moved run"], elsewhere)[0], "the resumed run keeps its sources"


def test_a_moved_run_is_exported_from_another_folder(elsewhere):
    pytest.importorskip("transformers")
    output, _ = handaxe(["export", "moved run", "--out", "an export"], elsewhere)
    assert hint(output, "serve") == ["serve", "--model", "an export"]
    assert [one["function"]["name"] for one in json.loads((elsewhere / "an export" / "tools.json").read_text())] == [
        "price",
        "total",
    ]


def test_a_run_without_its_question_file_uses_the_copy(home, elsewhere):
    (home / "shop questions.jsonl").rename(home / "hidden")
    try:
        assert "3 held-out tasks" in handaxe(["eval", "moved run", "--tasks", "3"], elsewhere)[0]
    finally:
        (home / "hidden").rename(home / "shop questions.jsonl")


def test_changed_and_missing_tools_are_one_sentence(home, elsewhere):
    (home / "shop_tools.py").write_text(TOOLS + "\nMORE = 1\n")
    try:
        _, error = handaxe(["chat", "moved run", QUESTION], elsewhere, code=(0, 1))
        assert error.count("warning: ") == 1 and "shop_tools.py has changed since the run in moved run" in error
        (home / "shop_tools.py").unlink()
        _, error = handaxe(["chat", "moved run", QUESTION], elsewhere, code=2)
        assert "needs module 'shop_tools', and" in error and error.count("\n") == 1
    finally:
        (home / "shop_tools.py").write_text(TOOLS)
