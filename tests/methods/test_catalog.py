import sys

import pytest

from handaxe.core.errors import MethodError
from handaxe.methods import catalog
from handaxe.methods.catalog import find_method, list_methods, list_parts, list_studies

METHOD = '''import a_module_that_is_not_there


def {name}(base, *, knob: int = 1):
    """Train it.

    More.
    """
'''
PAGE = 'title = "A title"\nshort = "ABC"\n'


def home(folder, **papers):
    for name, page in papers.items():
        (folder / "papers" / name).mkdir(parents=True)
        (folder / "papers" / name / "paper.toml").write_text(page)
        (folder / "papers" / name / "__init__.py").write_text(METHOD.format(name=name))
    return folder


def test_methods_are_listed_by_name_without_an_import(tmp_path):
    found = list_methods(home(tmp_path, second=PAGE, first='base = "dapo"\n'))
    assert [(one.name, one.module) for one in found] == [
        ("first", "handaxe.papers.first"), ("second", "handaxe.papers.second"),
    ]  # fmt: skip
    assert found[0].summary == "Train it." and found[0].page.base == "dapo" and found[1].paper.title == "A title"


def test_further_methods_and_studies_are_in_files_of_their_names(tmp_path):
    folder = home(tmp_path, first=PAGE + '[[methods]]\nname = "other"\n[[studies]]\nname = "computed"\n')
    for name in ("other", "computed"):
        (folder / "papers" / "first" / f"{name}.py").write_text(METHOD.format(name=name))
    assert [(one.name, one.module, one.file.name) for one in list_methods(folder)] == [
        ("first", "handaxe.papers.first", "__init__.py"), ("other", "handaxe.papers.first.other", "other.py"),
    ]  # fmt: skip
    (study,) = list_studies(folder)
    assert (study.name, study.module) == ("computed", "handaxe.papers.first.computed")


def test_pages_name_worlds_and_pipelines_of_their_folder(tmp_path):
    page = PAGE + 'worlds = { scenes = "scenes" }\npipelines = { written = "made", checked = "made" }\n'
    folder = home(tmp_path, first=page, second=PAGE)
    for name in ("scenes", "made"):
        (folder / "papers" / "first" / f"{name}.py").touch()
    assert list_parts("worlds", folder) == {"scenes": "handaxe.papers.first.scenes"}
    assert list_parts("pipelines", folder) == dict.fromkeys(("written", "checked"), "handaxe.papers.first.made")
    (folder / "papers" / "first" / "made.py").unlink()
    with pytest.raises(MethodError, match="names 'made', and there is no"):
        list_parts("pipelines", folder)


def test_page_that_names_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(MethodError, match="names 'other', and there is no .*other.py"):
        list_methods(home(tmp_path, first=PAGE + '[[methods]]\nname = "other"\n'))


def test_two_methods_of_one_name_are_an_error(tmp_path):
    folder = home(tmp_path, twice=PAGE)
    (folder / "baselines" / "twice").mkdir(parents=True)
    (folder / "baselines" / "twice" / "paper.toml").touch()
    (folder / "baselines" / "twice" / "__init__.py").write_text(METHOD.format(name="twice"))
    with pytest.raises(MethodError, match="two methods are named 'twice'"):
        list_methods(folder)


def test_find_method_finds_further_methods_and_returns_none_for_unknown_names():
    assert find_method("otc").module == "handaxe.papers.otc"
    assert find_method("calm_judged").module == "handaxe.papers.calm.calm_judged"
    assert find_method("no_such_method") is None and find_method("../otc") is None


class Point:
    def __init__(self, name, value):
        self.name, self.value = name, value


def test_entry_points_add_papers_of_other_packages(tmp_path, monkeypatch):
    folder = tmp_path / "a_package_of_a_test" / "mine"
    folder.mkdir(parents=True)
    (tmp_path / "a_package_of_a_test" / "__init__.py").touch()
    (folder / "__init__.py").write_text('def mine(base):\n    """Train mine."""\n    return base\n')
    (folder / "paper.toml").write_text(PAGE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    points = [Point("mine", "a_package_of_a_test.mine")]
    monkeypatch.setattr(catalog, "entry_points", lambda group: points if group == "handaxe.papers" else [])
    catalog._plugins.cache_clear()
    try:
        assert find_method("mine").module == "a_package_of_a_test.mine"
        points.append(Point("empty", "a_package_of_a_test"))
        catalog._plugins.cache_clear()
        with pytest.raises(
            MethodError, match="entry point 'empty' of group handaxe.papers: .* no package with a paper.toml"
        ):
            list_methods()
    finally:
        catalog._plugins.cache_clear()
