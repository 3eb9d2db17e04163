import pytest

from handaxe.papers.uct.consolidate import consolidate, is_dropped
from handaxe.tools.build_tool import list_schema
from handaxe.tools.library import LibraryTool, ToolCase, ToolDraft, ToolLibrary

CASE = ToolCase({"xs": [1, 2]}, [2, 1])


def library_of(**bodies):
    library = ToolLibrary(accepts=("unverified",))
    for name, body in bodies.items():
        library.admit(ToolDraft(list_schema(name), f"def {name}(xs): return {body}", (CASE,)), [])
    assert len(library.entries) == len(bodies)
    return library


@pytest.mark.parametrize(
    "uses, failures, dropped", [(9, 1, False), (3, 2, True), (2, 1, False), (1, 1, False), (0, 0, False)]
)
def test_failing_tools_are_dropped_after_two_uses(uses, failures, dropped):
    tool = LibraryTool(ToolDraft(list_schema("a"), "", ()), "verified", 1, uses, failures)
    assert is_dropped(tool) == dropped


def test_of_equal_tools_the_one_with_more_uses_stays():
    library = library_of(a="xs[::-1]", b="sorted(xs, reverse=True)", c="list(reversed(xs))")
    library.record("c", failed=False)
    assert consolidate(library, [{"xs": [1, 3, 2]}]) == ["a"]
    assert sorted(library.entries) == ["b", "c"]


def test_tools_without_a_value_for_any_probe_are_not_merged():
    library = library_of(a="xs[::-1] if len(xs) < 3 else 1 // 0", b="[2, 1] if len(xs) < 3 else 1 // 0")
    assert consolidate(library, [{"xs": [1, 2, 3]}]) == [] and consolidate(library, []) == []
    assert consolidate(library, [{"xs": [1, 2]}]) == ["b"]
