"""The house rules that can be read off the source."""

import ast
import collections
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from helpers import source

import handaxe
from handaxe.methods.catalog import list_methods, list_studies

PLAIN = [m for m in source.MODULES if m.name not in ("__init__.py", "__main__.py")]


@source.for_each(PLAIN)
def test_all_is_sorted_and_complete(module):
    names = source.exported(module)
    assert names is not None, "every module says what is public in __all__"
    assert names == sorted(names) and len(set(names)) == len(names)
    assert set(source.defined(module)) <= set(names), "a public name that is not exported: export it or prefix it by _"


def test_every_name_has_one_home():
    """Worlds all have `tasks` and commands all have `main`; a file's own name may occur in another folder, such as the
    surrogate and the stage `reinforce`. Nothing else repeats."""
    homes = collections.defaultdict(set)
    for module in PLAIN:
        for name in set(source.defined(module)) - {"tasks", "main", module.stem}:
            homes[name].add(str(module))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


@cache
@cache
def _own_names(module):
    """What a module binds at its top level itself, not by importing it."""
    names = set()
    for node in ast.walk(ast.Module([n for n in source.tree(module).body if not _is_import(n)], [])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _is_import(node):
    return isinstance(node, ast.Import | ast.ImportFrom)


def test_every_name_is_imported_from_where_it_is_defined():
    """Or from a module that says in `__all__` that it hands the name on; packages do so in their `__init__`."""
    wrong = []
    for folder in ("handaxe", "tests", "bench", "examples", "docs"):
        for path in sorted((source.ROOT / folder).rglob("*.py")):
            for module, names in _imports(path.read_text()):
                target = Path(*module.split(".")).with_suffix(".py")
                if (source.ROOT / target).exists():
                    unknown = names - _own_names(target) - set(source.exported(target) or ())
                    wrong += [f"{path.relative_to(source.ROOT)} imports {name} from {module}" for name in unknown]
    assert not wrong


def _imports(text):
    """Modules of the package, and the names that a text imports from them; patterns are four times as fast as `ast`."""
    for module, listed in re.findall(r"^ *from (handaxe\.[\w.]+) import (\([^)]*\)|.*)$", text, re.MULTILINE):
        listed = re.sub(r"#.*| as \w+|[()]", "", listed)
        yield module, {name.strip() for name in listed.split(",")} - {""}


@pytest.mark.parametrize(
    "text", ["from handaxe.a.b import c, d as e  # noqa", "    from handaxe.a.b import (\n    c,  # first\n    d,\n)\n"]
)
def test_imports_of_a_text(text):
    assert list(_imports(text)) == [("handaxe.a.b", {"c", "d"})]


def test_every_public_name_that_programs_and_pages_use_exists():
    """`from handaxe import credit` and then `credit.NAME`, in examples, benchmarks and blocks of pages."""
    programs = {path: path.read_text() for folder in ("examples", "bench") for path in _python(folder)}
    for page in (source.ROOT / "README.md", source.ROOT / "CONTRIBUTING.md", *(source.ROOT / "docs").glob("*.md")):
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        programs |= {f"{page.name}, block {number}": block for number, block in enumerate(blocks)}
    assert not [f"{where}: {wrong}" for where, text in programs.items() for wrong in _unknown_names(text)]


def _python(folder):
    return sorted((source.ROOT / folder).rglob("*.py"))


def _unknown_names(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a page may show a part of a program
        return []
    packages = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "handaxe":
            for one in node.names:
                folder = source.ROOT.joinpath(*node.module.split("."), one.name)
                if (folder / "__init__.pyi").exists():
                    packages[one.asname or one.name] = importlib.import_module(f"{node.module}.{one.name}")
        if isinstance(node, ast.Import) and node.names[0].name == "handaxe":
            packages[node.names[0].asname or "handaxe"] = handaxe
    return [
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages
        if node.attr not in dir(packages[node.value.id])
    ]


@source.for_each(PLAIN)
def test_files_and_functions_are_small(module):
    """At most 400 lines a file, 600 in the core, whose pages each hold one subject; 80 lines a function body."""
    assert (source.ROOT / module).read_text().count("\n") <= (600 if module.parts[1] == "core" else 400)
    for node in source.functions(module):
        body = node.body[1:] if ast.get_docstring(node) else node.body
        if body:
            assert body[-1].end_lineno - body[0].lineno < 80, f"{node.name} has a long body"


@source.for_each(source.MODULES)
def test_ascii_only(module):
    assert (source.ROOT / module).read_text().isascii()


@source.for_each(PLAIN)
def test_every_module_and_public_name_is_documented(module):
    tree = source.tree(module)
    assert ast.get_docstring(tree), "a module says what it is for"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name} has no docstring"


@source.for_each(PLAIN)
def test_no_registries_no_magic(module):
    for node in ast.walk(source.tree(module)):
        assert not isinstance(node, ast.Global), "no global state"
        if isinstance(node, ast.FunctionDef):
            called_by_transformers = module.stem.startswith("modeling_")  # copied into exports, never imported here
            free = None if called_by_transformers else node.args.kwarg
            assert not free, f"{node.name} takes **{free.arg}; name its arguments"
            for inner in ast.walk(node):
                own = isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith("handaxe")
                assert not own, f"{node.name} imports handaxe inside; import at the top"


@cache
def _public():
    """Modules with a function or class of their own name. Methods and studies are tested by
    tests/papers/test_every_method.py, the parts of a world's package by the tests of the world."""
    methods = {Path(one.module.replace(".", "/")).with_suffix(".py") for one in (*list_methods(), *list_studies())}
    parts = {m for m in PLAIN if m.parts[1] == "worlds" and (source.ROOT / m).with_name("world.py").exists()}
    parts -= {m for m in parts if m.name == "world.py"} | {m for m in parts if len(m.parts) == 3}
    return {m for m in PLAIN if m not in methods | parts and source.factory(m) is not None}


@source.for_each(PLAIN)  # which of them are public is read in the test, as parsing takes seconds
def test_tests_mirror_the_package(module):
    if module not in _public():
        return
    folder, test = source.ROOT / "tests" / Path(*module.parts[1:-1]), f"test_{module.name}"
    assert (folder / test).exists(), f"{module} has no {folder.relative_to(source.ROOT)}/{test}"


@cache
def _mechanisms():
    """Files whose factory has the file's name, worlds, methods and studies of papers aside."""
    other = {Path(one.module.replace(".", "/")).with_suffix(".py") for one in (*list_methods(), *list_studies())}
    chosen = [m for m in PLAIN if m.parts[1] in source.MECHANISMS and m not in other]
    factories = [(m, source.factory(m)) for m in chosen]
    return {m for m, made in factories if isinstance(made, ast.FunctionDef) and _result(made) not in ("World", "Tool")}


def _result(made):
    return "" if made.returns is None else ast.unparse(made.returns)


@source.for_each(PLAIN)
def test_a_mechanism_documents_its_parts(module):
    if module not in _mechanisms():
        return
    node = source.factory(module)
    text = f"{ast.get_docstring(source.tree(module))}\n{ast.get_docstring(node)}"
    if isinstance(node, ast.ClassDef):
        text += "\n".join(ast.get_docstring(n) or "" for n in node.body if isinstance(n, ast.FunctionDef))
    for part in ("Example", "Paper:", "Differs:") if "Idea:" not in text else ("Example", "Idea:"):
        assert part in text, f"{module} lacks {part!r}"


def test_importing_handaxe_loads_nothing_heavy():
    heavy = ("torch", "transformers", "scipy", "sympy", "reasoning_gym", "pydantic_monty", "peft", "tyro")
    code = f"import handaxe, sys; print([m for m in {heavy!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


@source.for_each(source.MODULES)
def test_no_line_assigns_three_names_at_once(module):
    for node in ast.walk(source.tree(module)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            for target in node.targets:
                assert not isinstance(target, ast.Tuple) or len(target.elts) < 3, f"line {node.lineno}: unpack it"


IMAGELESS = ("worlds/routing/world.py",)
"""Modules that make messages without images of text-only tasks."""


def test_messages_made_of_other_messages_hand_images_on():
    """The content of a message with images has placeholders, which are wrong without `images=`."""
    wrong = []
    for module in source.MODULES:
        for node in ast.walk(source.tree(module)):
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if name not in ("Message", "ToolReply"):
                continue
            copied = any(isinstance(part, ast.Attribute) and part.attr == "content" for part in ast.walk(node))
            spoken = bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == "assistant"
            if copied and not spoken and "images" not in [keyword.arg for keyword in node.keywords]:
                wrong.append(f"{module}:{node.lineno}")
    assert not [place for place in wrong if not any(name in place for name in IMAGELESS)]
