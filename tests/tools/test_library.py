import json

import pytest

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import ToolCall, ToolSchema
from handaxe.tools.library import DraftVerdict, ToolCase, ToolDraft, ToolLibrary, same_value

PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def case(n, expected):
    return ToolCase({"n": n}, expected)


def draft(source="def double(n): return 2 * n", tests=(case(1, 2),), name="double"):
    return ToolDraft(ToolSchema(name, "Double a number.", PARAMETERS), source, tests)


@pytest.mark.parametrize(
    "source, hidden, verdict",
    [
        ("def double(n): return 2 * n", [case(3, 6)], "verified"),
        ("def double(n): return 2", [case(3, 6)], "failed"),
        ("def double(n): return 2", [], "unverified"),
        ("def double(n): return 2", [case(1, 2)], "unverified"),
        ("def double(n): return n", [case(3, 6)], "failed"),
        ("def double(n): return 2.0 * n", [case(3, 6)], "failed"),
        ("def double(n): raise ValueError", [], "failed"),
    ],
)
def test_a_draft_is_verified_by_its_tests_and_other_hidden_cases(source, hidden, verdict):
    assert ToolLibrary().check(draft(source), hidden).verdict == verdict


def test_a_draft_without_tests_or_with_a_bad_name_fails():
    assert ToolLibrary().check(draft(tests=()), [case(1, 2)]) == DraftVerdict("failed", "the draft has no test")
    assert ToolLibrary().check(draft(name="x-y"), [case(1, 2)]).verdict == "failed"


def test_reasons_name_no_hidden_value():
    reason = ToolLibrary().check(draft("def double(n): return 2"), [case(3, 6271)]).reason
    assert reason == "1 of 1 hidden cases fail"


def test_only_accepted_verdicts_enter_and_raise_the_version():
    strict, loose = ToolLibrary(), ToolLibrary(accepts=("verified", "unverified"))
    assert strict.admit(draft(), []).verdict == loose.admit(draft(), []).verdict == "unverified"
    assert not strict.entries and strict.version == 0
    assert loose.entries["double"].since == loose.version == 1
    loose.drop(["double", "other"])
    assert not loose.entries and loose.version == 2
    loose.drop(["double"])
    assert loose.version == 2


def test_a_second_tool_of_a_name_raises():
    library = ToolLibrary()
    library.admit(draft(), [case(3, 6)])
    with pytest.raises(InputError, match="the library has a tool 'double'"):
        library.admit(draft(), [case(3, 6)])
    with pytest.raises(InputError, match="it has double"):
        library.call("triple", {"n": 1})


def test_calls_run_in_the_sandbox_and_uses_are_recorded():
    library = ToolLibrary()
    library.admit(draft(), [case(3, 6)])
    assert library.call("double", {"n": 4}).value == 8 and library.call("double", {"m": 4}).error
    assert library.fits("double", [case(5, 10)]) and not library.fits("double", [case(5, 11)])
    library.record("double", failed=False)
    library.record("double", failed=True)
    assert (library.entries["double"].uses, library.entries["double"].failures) == (2, 1)


def test_pinned_tools_stay_as_the_library_changes():
    pytest.importorskip("jsonschema")
    library = ToolLibrary()
    library.admit(draft(), [case(3, 6)])
    (tool,) = library.pinned()
    library.drop(["double"])
    assert tool.run(ToolCall("double", {"n": 21}, "0")).content == "42" and not library.pinned()


def test_the_state_is_json_and_restores_the_library():
    library = ToolLibrary()
    library.admit(draft(), [case(3, 6)])
    library.record("double", failed=True)
    copy = ToolLibrary()
    copy.load_state_dict(json.loads(json.dumps(library.state_dict())))
    assert copy == library and copy.call("double", {"n": 4}).value == 8


def test_json_values_of_other_types_differ():
    assert same_value([1, {"a": 2, "b": 3}], [1, {"b": 3, "a": 2}])
    assert not same_value(1, True) and not same_value(1, 1.0) and not same_value("1", 1)


def test_a_failing_call_of_a_pinned_tool_is_a_retry():
    pytest.importorskip("jsonschema")
    library = ToolLibrary()
    library.admit(draft("def double(n): return 2 * n if n < 9 else 1 // 0"), [case(3, 6)])
    with pytest.raises(Retry, match="ZeroDivisionError"):
        library.pinned()[0].function({"n": 9}, None)
