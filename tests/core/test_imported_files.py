"""Files that a file imports from its own folder."""

import pytest

from handaxe.core.imported_files import imported_files

FILES = {
    "shop.py": "import prices\nfrom pack import inner\nimport json, missing.one\n\n\ndef f():\n    import later\n",
    "prices.py": "import shop\n",
    "later.py": "from pack.deep import *\nimport plain.part\n",
    "plain/part.py": "",
    "unused.py": "",
    "pack/__init__.py": "",
    "pack/inner.py": "from . import beside\nfrom .deep.lowest import value\nfrom ..above import x\n",
    "pack/beside.py": "",
    "pack/deep/__init__.py": "from .. import top\n",
    "pack/deep/lowest.py": "value = 1\n",
    "pack/top.py": "",
    "pack/unused.py": "",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_imports_are_followed(folder):
    found = imported_files(folder / "shop.py", folder)
    names = sorted(FILES.keys() - {"unused.py", "pack/unused.py"})
    assert [file.relative_to(folder).as_posix() for file in found] == sorted(names)


def test_a_file_without_imports_is_alone(folder):
    assert imported_files(folder / "unused.py", folder) == [folder / "unused.py"]


@pytest.mark.parametrize("text", ["def broken(:\n", "value = '\0'\n"])
def test_a_file_that_is_no_python_has_no_imports(folder, text):
    (folder / "prices.py").write_text(text)
    assert folder / "prices.py" in imported_files(folder / "shop.py", folder)
