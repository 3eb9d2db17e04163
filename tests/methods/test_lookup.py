import subprocess
import sys

import pytest

from handaxe.core.errors import InputError, MethodError
from handaxe.engines import LocalEngine
from handaxe.methods import lookup
from handaxe.methods.lookup import find, list_names
from handaxe.papers.otc import otc
from handaxe.tools.calculator import calculator
from handaxe.tools.python import python
from handaxe.worlds.arithmetic import arithmetic


def test_name_stands_for_an_export_of_its_package():
    assert find("methods", "otc") is otc
    assert find("worlds", "arithmetic") is arithmetic
    assert find("tools", "calculator") is calculator and find("tools", "python") is python
    assert find("engines", "local") is LocalEngine


def test_world_of_one_paper_is_found_by_name():
    assert find("worlds", "twenty_questions").__module__ == "handaxe.papers.archer.twenty_questions"


def test_names_list_worlds_tools_and_engines_without_helpers():
    assert set(list_names("tools")) == {
        "calculator",
        "compute",
        "cpython",
        "crop",
        "files",
        "fold_memory",
        "ocr",
        "python",
        "read_code",
        "segment",
    }
    assert {"calls", "gym", "jsonl", "arithmetic", "library", "twenty_questions"} <= set(list_names("worlds"))
    assert not {"World", "parts"} & set(list_names("worlds"))
    assert "local" in list_names("engines") and "otc" in list_names("methods")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("methods", "otk", "there is no method 'otk'; did you mean otc or sport or orbit?"),
        ("methods", "qqqqqqqqqq", "`handaxe methods` lists them"),
        ("worlds", "arithmetik", "did you mean arithmetic"),
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
    code = (
        "import sys; from handaxe.methods.lookup import list_names; list_names('tools'); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


class Point:
    name = "mine"

    def load(self):
        return arithmetic


def test_entry_points_add_worlds_of_other_packages(monkeypatch):
    monkeypatch.setattr(lookup, "entry_points", lambda group: [Point()] if group == "handaxe.worlds" else [])
    lookup._plugins.cache_clear()
    try:
        assert find("worlds", "mine") is arithmetic and "mine" in list_names("worlds")
    finally:
        lookup._plugins.cache_clear()
