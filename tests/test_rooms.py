"""Rooms, each order of importing in a fresh interpreter."""

import itertools
import subprocess
import sys

import pytest

WAYS = (
    "import handaxe.credit.group_norm",
    "from handaxe.credit.group_norm import group_norm",
    "from handaxe.credit import group_norm",
    "from handaxe import credit; credit.group_norm",
    "import handaxe; handaxe.credit.group_norm",
    "import importlib; importlib.import_module('handaxe.credit.group_norm')",
)


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("ways", itertools.permutations(WAYS, 2), ids=lambda ways: " THEN ".join(ways))
def test_whichever_way_comes_first_the_room_offers_the_factory(ways):
    code = [*ways, "import handaxe, sys", "factory = sys.modules['handaxe.credit.group_norm'].group_norm"]
    code += ["from handaxe.credit import group_norm as got", "assert got is factory is handaxe.credit.group_norm, got"]
    code += ["import pickle", "assert pickle.loads(pickle.dumps(got)) is factory"]
    fresh("\n".join(code))


def test_rooms_within_rooms_and_files_that_are_no_factory():
    code = "from handaxe import losses, rewards; print(losses.ratios.token.__name__, rewards.parts.__name__)"
    assert fresh(code) == "token handaxe.rewards.parts"


def test_a_name_that_is_not_there():
    code = "from handaxe import credit\ntry: credit.grup_norm\nexcept AttributeError as error: print(error)"
    assert fresh(code) == "handaxe.credit has no 'grup_norm'; did you mean group_norm or turn_norm?"
    code = "import handaxe\ntry: handaxe.trian\nexcept AttributeError as error: print(error)"
    assert fresh(code) == "handaxe has no 'trian'"
    assert fresh("from handaxe import credit; print(hasattr(credit, '__wrapped__'))") == "False"


def test_what_a_room_offers_is_listed_without_importing_it():
    code = "import sys; from handaxe import credit; print('gae' in dir(credit), 'handaxe.credit.gae' in sys.modules)"
    assert fresh(code) == "True False"


def test_verbs():
    code = "import handaxe as hx; print(hx.train.__module__, hx.load.__module__, hx.LocalEngine.__module__)"
    assert fresh(code) == "handaxe.training.loop handaxe.models.load handaxe.engines.local"
    assert "train" in fresh("import handaxe; print(dir(handaxe))")


def test_an_import_that_fails_inside_says_what_failed(tmp_path):
    """a missing package is named, and not taken for a missing name"""
    code = "import sys; sys.modules['numpy'] = None\ntry:\n import handaxe.credit; handaxe.credit.gae\n"
    code += "except ImportError as error: print(error)"
    assert "numpy" in fresh(code)


def test_checkers_see_the_verbs_that_are_there():
    import ast
    from pathlib import Path

    import handaxe

    tree = ast.parse(Path(handaxe.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    assert {name.name: node.module for node in block.body for name in node.names} == handaxe.VERBS
