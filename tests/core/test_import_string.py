import pytest

from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute, exports, named
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.calculator import calculator


def test_attribute_matches_the_docstring_example():
    found = attribute("handaxe.tools.calculator:calculator", noun="tool", example="my_file:my_tool")
    assert found is calculator


def test_modules_of_the_current_folder_are_found(tmp_path, monkeypatch):
    (tmp_path / "attributes_own.py").write_text("here = 7\n")
    monkeypatch.chdir(tmp_path)
    assert attribute("attributes_own:here", noun="tool", example="a:b") == 7


@pytest.mark.parametrize(
    "where, message",
    [
        ("handaxe", "'handaxe' names no tool: write MODULE:ATTRIBUTE, such as a:b"),
        (":calculator", "names no tool"),
        ("handaxe.nothing:calculator", "there is no tool 'handaxe.nothing:calculator': no module 'handaxe.nothing'"),
        ("handaxe.tools.calculator:abacus", "has no 'abacus'"),
    ],
)
def test_an_unknown_import_string_is_an_error(where, message):
    with pytest.raises(InputError, match="tool") as caught:
        attribute(where, noun="tool", example="a:b")
    assert message in str(caught.value)


def test_named_finds_library_names_and_user_modules(tmp_path, monkeypatch):
    assert named("exact_match", package="handaxe.rewards", noun="reward") is exact_match
    (tmp_path / "named_own.py").write_text("mine = 'mine'\n")
    monkeypatch.chdir(tmp_path)
    assert named("named_own:mine", package="handaxe.rewards", noun="reward") == "mine"


def test_an_unknown_name_is_an_error_with_the_closest_names():
    with pytest.raises(InputError, match="there is no reward 'exact_mach'; did you mean exact_match"):
        named("exact_mach", package="handaxe.rewards", noun="reward")
    with pytest.raises(
        InputError, match="there is no reward 'zzz'; there are action_match, action_score, .*exact_match"
    ):
        named("zzz", package="handaxe.rewards", noun="reward")


def test_exports_omit_helpers():
    names = exports("handaxe.rewards")
    assert {"exact_match", "numeric_match"} <= set(names) and not {"lift", "combine", "reference"} & set(names)


def test_errors_suggest_names_and_show_the_line_of_a_broken_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "attributes_mine.py").write_text("def convert():\n    pass\n")
    (tmp_path / "attributes_broken.py").write_text("x = 1\ny = x / 0\n")
    (tmp_path / "attributes_lacking.py").write_text("import a_package_that_is_not_there\n")
    (tmp_path / "attributes_typo.py").write_text("def f(:\n")
    for where, message in {
        "attributes_mine:convret": "did you mean convert?",
        "attributes_mime:convert": "did you mean attributes_mine",
        "attributes_broken:y": "attributes_broken.py, line 2: ZeroDivisionError: division by zero",
        "attributes_lacking:y": "line 1: ModuleNotFoundError: No module named 'a_package_that_is_not_there'",
        "attributes_typo:f": "attributes_typo.py, line 1",
    }.items():
        with pytest.raises(InputError) as caught:
            attribute(where, noun="tool", example="a:b")
        assert message in str(caught.value)
