import pytest

from handaxe.core.errors import InputError
from handaxe.tools.draft_runner import DraftResult, run_draft


def test_each_call_has_a_value_or_an_error():
    found = run_draft("def f(n): return n + 1", "f", [{"n": 2}, {}, {"n": "a"}])
    assert found[0] == DraftResult(3)
    assert found[1].error.startswith("TypeError") and found[2].error.startswith("TypeError")
    assert run_draft("def f(n): return n", "f", []) == ()


@pytest.mark.parametrize(
    "source, error",
    [
        ("def f(n:", "SyntaxError"),
        ("def g(n): return 1", "NameError"),
        ("def f(n):\n    while True: pass", "TimeoutError"),
        ("def f(n): return [3] * 10**9", "MemoryError"),
        ("def f(n): return {1}", "TypeError"),
        ("def f(n): return open('/etc/passwd').read()", "PermissionError"),
        ("def f(n): return float('nan')", "the source does not return JSON"),
        ("import json\njson.dumps = None\ndef f(n): return 1", ""),
    ],
)
def test_limits_and_faults_are_errors_of_the_call(source, error):
    (found,) = run_draft(source, "f", [{"n": 1}], seconds=0.2)
    assert found.error.startswith(error) and (found.value is None or not error)


def test_calls_share_no_state_with_earlier_requests():
    source = "seen = []\ndef f(n):\n    seen.append(n)\n    return len(seen)"
    assert [one.value for one in run_draft(source, "f", [{"n": 1}, {"n": 2}])] == [1, 2]
    assert run_draft(source, "f", [{"n": 3}])[0].value == 1


def test_printed_lines_are_no_results():
    (found,) = run_draft("def f(n):\n    print('[{\"value\": 9}]')\n    return (n, 'x')", "f", [{"n": 1}])
    assert found == DraftResult([1, "x"])


def test_wrong_names_and_arguments_raise():
    with pytest.raises(InputError, match="no name of a function"):
        run_draft("", "f()", [])
    with pytest.raises(InputError, match="no JSON"):
        run_draft("", "f", [{"n": {1}}])
