"""The pages for contributors, followed word by word in a copy of the repository: files, stub lines and commands."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "CONTRIBUTING.md"
PAGES = {page.stem: page.read_text(encoding="ascii") for page in sorted((ROOT / "docs" / "contributing").glob("*.md"))}
NEW = {
    "reward": ["handaxe/rewards/tool_coverage.py", "tests/rewards/test_tool_coverage.py", "my_reward.py"],
    "credit": ["handaxe/credit/median_baseline.py", "tests/credit/test_median_baseline.py", "my_credit.py"],
    "selector": ["handaxe/selection/max_variance.py", "tests/selection/test_max_variance.py", "my_selector.py"],
    "loss_part": ["handaxe/losses/surrogates/quadratic.py", "tests/losses/surrogates/test_quadratic.py", "my_loss.py"],
    "rollout": ["handaxe/rollouts/until_repeat.py", "tests/rollouts/test_until_repeat.py", "my_rollout.py"],
    "world": ["handaxe/worlds/digit_sums.py", "tests/worlds/test_digit_sums.py"],
    "tool": ["handaxe/tools/weekday.py", "tests/tools/test_weekday.py"],
    "judge": ["handaxe/judges/step_repeats.py", "tests/judges/test_step_repeats.py", "my_judge.py"],
    "paper": [
        "handaxe/papers/first_try/paper.toml",
        "handaxe/papers/first_try/__init__.py",
        "handaxe/papers/first_try/first_call.py",
        "tests/papers/first_try/test_first_call.py",
    ],
}
"""New files of each page, in order."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"`((?:handaxe|tests|docs)/[\w./]+|my_\w+\.py)`:\s*$")


FORMULA = re.compile(r'^    """[A-Z].+\.\n\n {8}\S.*=', re.MULTILINE)
"""First line of a docstring and a formula below it."""


def blocks(text):
    """(path, language, content) of each block; the path ends the paragraph before the block, "" without."""
    for found in FENCE.finditer(text):
        named = FILE.search(text[: found.start()])
        yield named[1] if named else "", found[1], found[2]


def commands(text):
    """Lines of blocks without a language. Blocks in sh take minutes to hours."""
    found = [content for path, language, content in blocks(text) if not path and not language]
    return [shlex.split(line) for content in found for line in content.replace("\\\n", " ").splitlines()]


def write_files(text, folder):
    """Write the files of a page, add its line to a stub and its row to a table; return the new paths."""
    written = []
    for path, language, content in blocks(text):
        if not path:
            continue
        target = folder / path
        if target.suffix == ".pyi":
            lines = target.read_text().splitlines(keepends=True)
            target.write_text("".join(sorted([*lines, content])))
        elif language == "markdown":
            before, rule, after = target.read_text().partition("|---|---|---|---|\n")
            assert rule, f"{path} has no table of four columns"
            target.write_text(before + rule + content + after)
        else:
            assert not target.exists(), path
            target.parent.mkdir(exist_ok=True)
            target.write_text(content)
            written.append(path)
    return written


def execute(text, folder):
    """Run the commands of a page; every pytest command must run a test."""
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    for words in commands(text):
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
        assert words[0] != "pytest" or re.search(r"\d+ passed", done.stdout), done.stdout


@pytest.fixture
def copy(tmp_path):
    """A copy with the package, tests, pages and the settings of tools."""
    for name in ("handaxe", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "PAPERS.md", tmp_path)  # `handaxe papers` writes the file
    for name in ("pyproject.toml", ".importlinter", "README.md", "CONTRIBUTING.md", "examples", "bench"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", NEW)
def test_a_page_leads_from_an_empty_file_to_a_run(page, copy):
    assert write_files(PAGES[page], copy) == NEW[page]
    execute(PAGES[page], copy)
    assert list(copy.glob("runs/*/record.sqlite"))
    if page == "paper":
        assert "first_try" in (copy / "PAPERS.md").read_text()


@pytest.mark.slow
@pytest.mark.long
def test_the_parts_of_all_pages_keep_the_rules_together(copy):
    for text in PAGES.values():
        write_files(text, copy)
    execute(GUIDE.read_text(encoding="ascii").partition("## Add a part")[2], copy)
    tests = ("commands/test_bias.py", "commands/test_lab.py")
    rows = ["pytest", *(f"tests/{name}" for name in tests), "-k", "has_a_case_or_a_reason"]
    execute(f"```\n{shlex.join(rows)}\nmypy\nlint-imports\n```\n", copy)


def test_every_page_is_followed_and_linked():
    assert set(PAGES) == set(NEW)
    assert set(re.findall(r"\]\(docs/contributing/(\w+)\.md\)", GUIDE.read_text())) == set(NEW)


def test_every_page_of_a_part_has_formula_example_twin_and_contract():
    for name in set(NEW) - {"paper"}:
        text, (mechanism, test) = PAGES[name], NEW[name][:2]
        code = {path: content for path, _, content in blocks(text)}
        assert "Example:\n" in code[mechanism] and FORMULA.search(code[mechanism]), name
        assert re.search(r"def test_\w+_equals_a_(slow_loop|loop_over_all_subsets|count_of_days)", code[test]), name
        assert re.search(r"`(handaxe\.testing\.check_\w+|records\.check)`", text), name
        assert [path for path in code if path.endswith("__init__.pyi")], name
        assert any(words[:2] == ["handaxe", "train"] for words in commands(text)), name


def test_every_file_that_the_pages_name_exists():
    new = {path for paths in NEW.values() for path in paths}
    for page in (GUIDE, *(ROOT / "docs" / "contributing").glob("*.md")):
        text = page.read_text(encoding="ascii")
        for target in re.findall(r"\]\(([^)#:]+)[^)]*\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
        for target in set(re.findall(r"`((?:handaxe|tests)/[\w/]+\.\w+)`", text)) - new:
            assert (ROOT / target).exists(), f"{page.name}: {target}"


def test_every_target_of_the_guide_is_in_the_makefile():
    targets = set(re.findall(r"^make ([\w-]+)", GUIDE.read_text(), re.MULTILINE))
    assert targets <= set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)) and len(targets) > 5
