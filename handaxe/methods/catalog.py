"""Lists methods and studies by the pages of folders. Imports no method, which keeps a listing fast."""

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal, NamedTuple

import handaxe
from handaxe.core.errors import MethodError
from handaxe.methods.paper import PAGE, MethodPage, Paper, StudyPage, read_paper

__all__ = [
    "HOME",
    "ListedMethod",
    "ListedStudy",
    "METHOD_FOLDERS",
    "find_method",
    "list_methods",
    "list_parts",
    "list_studies",
]

HOME = Path(handaxe.__file__).parent
METHOD_FOLDERS = ("baselines", "papers")
GROUP = "handaxe.papers"
"""Entry points of other packages: a name, and a package whose folder holds a paper.toml."""


class ListedMethod(NamedTuple):
    """A method with the page of the folder.

    name      of the function, and on the command line
    module    of the function, such as "handaxe.papers.otc"
    file      of the module
    page      page of the method in paper.toml
    paper     the whole paper.toml
    """

    name: str
    module: str
    file: Path
    page: MethodPage
    paper: Paper

    @property
    def folder(self) -> Path:
        """The folder of the paper."""
        return self.file.parent

    @property
    def result_file(self) -> Path:
        """File of the method's replication: result.json in the folder, result_NAME.json for further methods."""
        return _result_file(self.folder, self.name)

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return _summary(self.file, self.name)


class ListedStudy(NamedTuple):
    """A study with the page of the folder; fields as in `ListedMethod`."""

    name: str
    module: str
    file: Path
    page: StudyPage
    paper: Paper

    @property
    def result_file(self) -> Path:
        """File of the study's figures: result.json in the folder, result_NAME.json for a study of another name."""
        return _result_file(self.file.parent, self.name)


def list_methods(home: Path = HOME) -> list[ListedMethod]:
    """Every method, sorted by name.

    Args:
        home: folder of the package.

    Raises:
        MethodError: a page is not valid, a method has no function, or two methods have one name.
    """
    found: dict[str, ListedMethod] = {}
    for folder, package in _folders(home):
        for one in _methods_in(folder, package):
            if one.name in found:
                raise MethodError(f"two methods are named {one.name!r}: {found[one.name].file} and {one.file}")
            found[one.name] = one
    return [found[name] for name in sorted(found)]


def list_studies(home: Path = HOME) -> list[ListedStudy]:
    """Every study, sorted by name.

    Args:
        home: folder of the package.

    Raises:
        MethodError: a page is not valid, or a study has no function.
    """
    found = []
    for folder, package in _folders(home):
        paper = read_paper(folder)
        for page in paper.studies:
            file, module = _place(folder, package, page.name)
            found.append(ListedStudy(page.name, module, file, page, paper))
    return sorted(found, key=lambda one: one.name)


def list_parts(kind: Literal["worlds", "pipelines"], home: Path = HOME) -> dict[str, str]:
    """Name -> module of the worlds or pipelines that pages name.

    Raises:
        MethodError: a page is not valid, or a module has no file.
    """
    found = dict[str, str]()
    for folder, package in _folders(home):
        for name, module in getattr(read_paper(folder), kind).items():
            found[name] = _place(folder, package, module)[1]
    return found


def find_method(name: str) -> ListedMethod | None:
    """Find a method by name; None if no method has the name. Searches the folder of the same name first."""
    for kind in METHOD_FOLDERS:
        if name.isidentifier() and (HOME / kind / name / PAGE).is_file():
            for one in _methods_in(HOME / kind / name, f"handaxe.{kind}.{name}"):
                if one.name == name:
                    return one
    return next((one for one in list_methods() if one.name == name), None)


def _folders(home: Path) -> Iterator[tuple[Path, str]]:
    """Folders with a page, with names of packages: first of handaxe, then of entry points."""
    for kind in METHOD_FOLDERS:
        for page in sorted((home / kind).glob(f"*/{PAGE}")):
            yield page.parent, f"handaxe.{kind}.{page.parent.name}"
    if home == HOME:
        yield from _plugins()


@cache
def _plugins() -> tuple[tuple[Path, str], ...]:
    found = []
    for point in entry_points(group=GROUP):
        spec = importlib.util.find_spec(point.value)
        if spec is None or spec.origin is None or not (Path(spec.origin).parent / PAGE).is_file():
            raise MethodError(f"entry point {point.name!r} of group {GROUP}: {point.value} is no package with a {PAGE}")
        found.append((Path(spec.origin).parent, point.value))
    return tuple(found)


def _methods_in(folder: Path, package: str) -> Iterator[ListedMethod]:
    paper = read_paper(folder)
    for page in paper.all_methods:
        file, module = _place(folder, package, page.name)
        yield ListedMethod(page.name, module, file, page, paper)


def _place(folder: Path, package: str, name: str) -> tuple[Path, str]:
    """File and module of a function of a folder."""
    file = folder / ("__init__.py" if name == folder.name else f"{name}.py")
    if not file.is_file():
        raise MethodError(f"{folder / PAGE} names {name!r}, and there is no {file}")
    return file, package if name == folder.name else f"{package}.{name}"


def _result_file(folder: Path, name: str) -> Path:
    return folder / ("result.json" if name == folder.name else f"result_{name}.json")


def _summary(file: Path, name: str) -> str:
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""
