import ast
import importlib
from pathlib import Path

import pytest

import handaxe
from handaxe.commands import stubs
from handaxe.errors import HandaxeError

ROOT = Path(handaxe.__file__).parents[1]
ROOMS = sorted(file.parent.relative_to(ROOT) for file in (ROOT / "handaxe").rglob("__init__.pyi"))


def test_what_is_in_the_tree_is_up_to_date():
    assert stubs.main(["--check"]) == 0


@pytest.mark.parametrize("folder", ROOMS, ids=str)
def test_a_stub_names_what_the_room_offers_at_run_time(folder):
    room = importlib.import_module(".".join(folder.parts))
    for node in ast.parse((ROOT / folder / "__init__.pyi").read_text()).body:
        module = importlib.import_module(node.module)
        for name in node.names:
            assert getattr(room, name.asname) is getattr(module, name.name)


def test_a_stale_one_is_named_and_written_anew(tmp_path, monkeypatch):
    package = tmp_path / "handaxe"
    (package / "credit").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "credit" / "__init__.py").write_text("from handaxe.rooms import open_room\n\nopen_room(__name__)\n")
    (package / "credit" / "mine.py").write_text("def mine():\n    pass\n")
    (package / "credit" / "helper.py").write_text("from os import path as helper\n")
    monkeypatch.setattr(handaxe, "__file__", str(package / "__init__.py"))
    with pytest.raises(HandaxeError, match="handaxe/credit is stale"):
        stubs.main(["--check"])
    assert stubs.main([]) == 0 and stubs.main(["--check"]) == 0
    lines = (package / "credit" / "__init__.pyi").read_text().splitlines()
    assert lines[1:] == ["from handaxe.credit.mine import mine as mine"]
    (package / "credit" / "other.py").write_text("other = 3\n")
    with pytest.raises(HandaxeError, match="handaxe/credit is stale"):
        stubs.main(["--check"])
