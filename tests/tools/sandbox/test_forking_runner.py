"""Requests to a harness in a real sandbox."""

import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.tools.sandbox.forking_runner import ForkAnswer, ForkingRunner

HARNESS = """
import json, os
count = [0]

def answer(text, fork_child):
    count[0] += 1
    request = json.loads(text)
    if request == "end":
        os._exit(1)
    if request == "text":
        return "no JSON"
    line, end = fork_child(lambda: json.dumps([request, count[0]]), seconds=1, wall=10, longest=1000)
    return line or json.dumps(end)
"""


@pytest.fixture
def runner(sandbox, tmp_path):
    path = tmp_path / "harness.py"
    path.write_text(HARNESS)
    return ForkingRunner((), path, "answer")


def test_a_sandbox_answers_several_requests(runner):
    assert runner.ask({"a": 1}) == ForkAnswer([{"a": 1}, 1])
    assert runner.ask({"a": 2}) == ForkAnswer([{"a": 2}, 2])


@pytest.mark.parametrize("request_", ["end", "text"])
def test_a_request_that_ends_two_sandboxes_has_a_problem(runner, request_):
    assert runner.ask(request_).problem and runner.ask({"a": 1}).value == [{"a": 1}, 1]


def test_a_harness_with_an_error_does_not_start(sandbox, tmp_path):
    path = tmp_path / "harness.py"
    path.write_text("1 / 0")
    with pytest.raises(InfrastructureError, match="did not start"):
        ForkingRunner((), path, "answer").ask({})
