import pytest

from handaxe.attributes import attribute
from handaxe.errors import InputError
from handaxe.tools.calculator import calculator


def test_the_example():
    found = attribute("handaxe.tools.calculator:calculator", noun="tool", example="my_file:my_tool")
    assert found is calculator


def test_a_module_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "attributes_own.py").write_text("here = 7\n")
    monkeypatch.chdir(tmp_path)
    assert attribute("attributes_own:here", noun="tool", example="a:b") == 7


@pytest.mark.parametrize(
    "where, message",
    [
        ("handaxe", "'handaxe' names no tool: write MODULE:ATTRIBUTE, such as a:b"),
        (":calculator", "names no tool"),
        ("handaxe.nothing:calculator", "there is no tool 'handaxe.nothing:calculator': No module named"),
        ("handaxe.tools.calculator:abacus", "has no attribute 'abacus'"),
    ],
)
def test_what_names_nothing(where, message):
    with pytest.raises(InputError, match="tool") as caught:
        attribute(where, noun="tool", example="a:b")
    assert message in str(caught.value)
