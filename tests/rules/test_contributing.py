"""CONTRIBUTING.md, followed word by word in a copy of the repository: its files, its stub line, its commands."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
STUB = "__init__.pyi"


def section(title):
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def files(text):
    """(path, content) of each block whose paragraph before it names a path."""
    return re.findall(r"`((?:handaxe|tests)/[\w./]+)`[^`]*?(?:`[A-Z]+`[^`]*?)*:\n\n```\w+\n(.*?)```", text, re.DOTALL)


def commands(text):
    """Lines of blocks without a language."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [shlex.split(line) for language, block in blocks if not language for line in block.splitlines()]


@pytest.fixture
def copy(tmp_path):
    """A copy with the package, the tests and the settings of tools."""
    for name in ("handaxe", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "PAPERS.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def follow(title, folder):
    """Write the files of a section, add its stub line, run its commands; return the written paths."""
    written = []
    for path, content in files(section(title)):
        target = folder / path
        if target.name == STUB:
            assert target.exists()
            content = "".join(sorted([*target.read_text().splitlines(keepends=True), content]))
        else:
            assert not target.exists()
            target.parent.mkdir(exist_ok=True)
            written.append(path)
        target.write_text(content)
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    for words in commands(section(title)):
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
        assert words[0] != "pytest" or re.search(r"\d+ passed", done.stdout), done.stdout
    return written


@pytest.mark.slow
def test_a_paper_is_added_by_its_folder_and_its_tests(copy):
    written = follow("Add a paper", copy)
    assert [Path(path).parent.as_posix() for path in written] == ["handaxe/papers/first_try"] * 3 + [
        "tests/papers/first_try"
    ]
    assert "first_try" in (copy / "PAPERS.md").read_text()
    assert (copy / "runs" / "first_try" / "record.sqlite").exists()


@pytest.mark.slow
def test_a_mechanism_is_added_by_a_file_a_test_and_a_stub_line(copy):
    written = follow("Add a mechanism", copy)
    assert written == ["handaxe/rewards/tool_coverage.py", "tests/rewards/test_tool_coverage.py"]
    code = "from handaxe import rewards; print(rewards.tool_coverage().__name__)"
    subprocess.run([sys.executable, "-c", code], cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, check=True)


def test_every_file_that_the_page_names_exists():
    named = set(re.findall(r"\]\(([^)#]+)\)", PAGE)) | set(re.findall(r"`(handaxe/[\w/]+\.py)`", PAGE))
    new = {path for title in ("Add a paper", "Add a mechanism") for path, _ in files(section(title))}
    assert len(new) == 7
    for target in named - new:
        assert (ROOT / target).exists(), target


def test_every_target_of_the_page_is_in_the_makefile():
    targets = set(re.findall(r"^make ([\w-]+)", PAGE, re.MULTILINE))
    assert targets <= set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)) and len(targets) > 5
