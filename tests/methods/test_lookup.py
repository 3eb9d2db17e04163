import subprocess
import sys

import pytest
from handaxe.papers.otc.method import otc

from handaxe.core.errors import InputError, RecipeError
from handaxe.engines.local.engine import LocalEngine
from handaxe.methods.lookup import find, offered
from handaxe.tools.calculator import calculator
from handaxe.tools.python import python
from handaxe.worlds.sums import sums


def test_a_name_is_a_file_of_its_room():
    assert find("recipes", "otc") is otc
    assert find("worlds", "sums") is sums
    assert find("tools", "calculator") is calculator and find("tools", "python") is python
    assert find("engines", "local") is LocalEngine


def test_rooms_offer_what_can_be_named_and_no_helper():
    assert {one.name for one in offered("tools")} >= {"calculator", "compute", "cpython", "python"}
    assert not {one.name for one in offered("tools")} & {"truncate", "serve", "sql", "declared", "bearer"}
    assert {one.name for one in offered("worlds")} >= {"calls", "gym", "jsonl", "library", "sums"}
    assert "world" not in {one.name for one in offered("worlds")}
    assert [one.name for one in offered("engines")] == ["local"]
    assert all(one.summary for room in ("recipes", "worlds", "tools", "engines") for one in offered(room))


@pytest.mark.parametrize(
    ("room", "name", "message"),
    [
        ("recipes", "otk", "there is no recipe 'otk'; did you mean otc?"),
        ("recipes", "qqqqqqqqqq", "`handaxe recipes` lists them"),
        ("worlds", "sum", "did you mean sums or "),
        (
            "tools",
            "zzz",
            "there are calculator, compute, cpython, fold_memory, python, and MODULE:ATTRIBUTE of your own",
        ),
        ("engines", "vllm", "there is no engine 'vllm'"),
        ("worlds", "no_such_module_here:world", "there is no world 'no_such_module_here:world'"),
    ],
)
def test_an_unknown_name_says_what_comes_close(room, name, message):
    with pytest.raises(RecipeError if room == "recipes" else InputError) as error:
        find(room, name)
    assert message in str(error.value)


def test_listing_loads_nothing_heavy():
    code = "import sys; from handaxe.methods.lookup import offered; offered('worlds'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
