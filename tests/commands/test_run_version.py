"""Finished runs are reused while the code and the files that they depend on are the same."""

import shutil
import sys
from pathlib import Path

import pytest

import handaxe
from handaxe.commands import run_version as versions
from handaxe.commands.run_version import run_version
from handaxe.commands.sides import make_job, side
from handaxe.methods.catalog import list_methods

CACHED = ("_digest", "_named", "_homes", "_methods", "_core", "_sources")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package's sources, whose digests are computed."""
    copied = shutil.copytree(
        Path(handaxe.__file__).parent, tmp_path / "handaxe", ignore=shutil.ignore_patterns("*.pyc")
    )
    monkeypatch.setattr(versions, "HOME", copied)
    forget()
    yield copied
    forget()


def forget():
    for name in CACHED:
        getattr(versions, name).cache_clear()


def version_after(file, arguments):
    """Version after a line was added to a file."""
    file.write_text(file.read_text() + "\n# changed\n")
    forget()
    return run_version(arguments)


OTC = {"method": "otc", "base": "grpo_no_kl", "world": "arithmetic"}


@pytest.mark.parametrize(
    ("inside", "counts"),
    [
        ("papers/otc/__init__.py", True),
        ("baselines/grpo/__init__.py", True),
        ("worlds/arithmetic.py", True),
        ("losses/policy.py", True),
        ("papers/ikea/facts.py", True),  # a world on which the start `small` is trained
        ("papers/spear/self_imitation.py", False),
        ("papers/spear/paper.toml", False),
        ("commands/compare.py", False),
        ("view/papers.py", False),
    ],
)
def test_code_of_the_run_counts(package, inside, counts):
    assert (package / inside).is_file()
    before = run_version(OTC)
    assert (version_after(package / inside, OTC) != before) == counts


@pytest.mark.parametrize(
    ("arguments", "inside"),
    [
        ({"method": "otc", "world": "fact_pages"}, "papers/tool_star/fact_pages.py"),
        ({"method": "otc", "aux_policies": ["helper=spear --model start"]}, "papers/spear/self_imitation.py"),
        ({"method": "evolver_rl"}, "papers/evolver/principled_hops.py"),
    ],
)
def test_papers_that_arguments_name_count(package, arguments, inside):
    assert (package / inside).is_file()
    before, without = run_version(arguments), run_version(OTC)
    assert version_after(package / inside, arguments) != before
    assert run_version(OTC) == without


def test_bases_of_bases_count(package):
    """`thor_tirgen` changes `thor`, whose page names its base."""
    (page,) = [one.page for one in list_methods(package) if one.name == "thor_tirgen"]
    assert page.base.split()[0] == "thor"
    chain = {"method": "thor_tirgen", "base": "thor"}
    before, without = run_version(chain), run_version(OTC)
    file = package / "papers/thor/paper.toml"
    file.write_text(file.read_text().replace('\nbase = "', '\nbase = "retool --', 1))
    forget()
    assert run_version(chain) != before and run_version(OTC) == without
    assert package / "papers/retool" in versions._papers(["thor_tirgen"])


def test_prompts_count(package):
    before = run_version({"method": "smart"})
    assert version_after(package / "papers/smart/prompts/justify.md", {"method": "smart"}) != before


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A working folder with a method of the user, which imports a second file."""
    here = tmp_path / "project"
    here.mkdir()
    (here / "own_method.py").write_text(
        "import own_weight\nfrom handaxe.methods.method import Method\n\n\n"
        'def mine(base: Method) -> Method:\n    """Mine."""\n    own_weight.value\n    return base\n'
    )
    (here / "own_weight.py").write_text("value = 1\n")
    (here / "own_other.py").write_text("value = 1\n")
    (here / "sums.csv").write_text("question,answer\n1+1,2\n")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [str(here), *sys.path])
    yield here
    for name in ("own_method", "own_weight"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "counts"), [("own_method.py", True), ("own_weight.py", True), ("own_other.py", False), ("sums.csv", True)]
)
def test_changed_code_or_data_of_the_user_is_another_run(project, tmp_path, name, counts):
    words = "own_method:mine --base toolrl --world jsonl --world.file sums.csv"
    before = make_job(side(words), 1, tmp_path).folder
    assert make_job(side(words), 1, tmp_path).folder == before
    with (project / name).open("a") as file:
        file.write("\n" if name.endswith(".py") else "2+2,4\n")
    assert (make_job(side(words), 1, tmp_path).folder != before) == counts


def test_a_folder_that_options_name_counts_without_the_record_of_a_run(project, tmp_path):
    begun = project / "begun"
    (begun / "checkpoints").mkdir(parents=True)
    (begun / "checkpoints" / "weights").write_text("1")
    named = {"method": "otc", "model": "begun"}
    before = run_version(named)
    (begun / "record.sqlite-shm").write_text("a reader")
    assert run_version(named) == before
    (begun / "checkpoints" / "weights").write_text("12")
    assert run_version(named) != before
    assert run_version({"method": "otc", "model": "", "text": "x" * 5000}) == run_version({"method": "otc", "n": 1})
