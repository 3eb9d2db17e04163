import subprocess
import sys

import pytest

from handaxe.core.errors import InputError, MethodError
from handaxe.engines import LocalEngine
from handaxe.methods import lookup
from handaxe.methods.lookup import find, names_of
from handaxe.papers.otc import otc
from handaxe.tools.calculator import calculator
from handaxe.tools.python import python
from handaxe.worlds.sums import sums


def test_name_stands_for_an_export_of_its_package():
    assert find("methods", "otc") is otc
    assert find("worlds", "sums") is sums
    assert find("tools", "calculator") is calculator and find("tools", "python") is python
    assert find("engines", "local") is LocalEngine


def test_world_of_one_paper_is_found_by_name():
    assert find("worlds", "twenty_questions").__module__ == "handaxe.papers.archer.twenty_questions"


def test_names_list_worlds_tools_and_engines_without_helpers():
    assert {"calculator", "compute", "cpython", "python"} <= set(names_of("tools"))
    assert {"calls", "gym", "jsonl", "library", "sums", "twenty_questions"} <= set(names_of("worlds"))
    assert not {"World", "parts"} & set(names_of("worlds"))
    assert "local" in names_of("engines") and "otc" in names_of("methods")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("methods", "otk", "there is no method 'otk'; did you mean otc?"),
        ("methods", "qqqqqqqqqq", "`handaxe methods` lists them"),
        ("worlds", "sum", "did you mean sums or "),
        ("tools", "zzz", "and MODULE:ATTRIBUTE of your own"),
        ("engines", "zzz", "there is no engine 'zzz'"),
        ("worlds", "no_such_module_here:world", "there is no world 'no_such_module_here:world'"),
    ],
)
def test_unknown_name_raises_with_close_matches(kind, name, message):
    with pytest.raises(MethodError if kind == "methods" else InputError) as error:
        find(kind, name)
    assert message in str(error.value)


def test_listing_names_loads_no_torch():
    code = "import sys; from handaxe.methods.lookup import names_of; names_of('tools'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


class Point:
    name = "mine"

    def load(self):
        return sums


def test_entry_points_add_worlds_of_other_packages(monkeypatch):
    monkeypatch.setattr(lookup, "entry_points", lambda group: [Point()] if group == "handaxe.worlds" else [])
    assert find("worlds", "mine") is sums and "mine" in names_of("worlds")
