import asyncio

import pytest
from pydantic import BaseModel, ValidationError

from handaxe.core.errors import Failed, InfrastructureError, InputError, Retry
from handaxe.core.records import Ending, ToolReply
from handaxe.tools import fault
from handaxe.tools.deadline import DeadlineError

RAISED = [
    (Retry("a capital letter"), ("retry", "a capital letter")),
    (Failed("no entry"), ("failed", "no entry")),
    (DeadlineError(), ("timeout", "look gave no reply within 2.5 seconds")),
    (TimeoutError("its own"), ("infra_error", "TimeoutError: its own")),
    (KeyError("secret"), ("infra_error", "KeyError: 'secret'")),
    (InfrastructureError("it died"), ("infra_error", "handaxe.core.errors.InfrastructureError: it died")),
    (InputError("no JSON"), ("infra_error", "handaxe.core.errors.InputError: no JSON")),
    (SystemExit(3), ("infra_error", "SystemExit: 3")),
    (asyncio.CancelledError(), ("infra_error", "asyncio.exceptions.CancelledError")),
]
ENDS = [
    ("ok", "infra_error", False),
    ("retry", "infra_error", False),
    ("failed", "infra_error", False),
    ("invalid", "infra_error", False),
    ("timeout", "infra_error", True),
    ("timeout", "policy", False),
    ("infra_error", "infra_error", True),
    ("infra_error", "policy", True),
]


@pytest.mark.parametrize("error, outcome", RAISED, ids=[type(error).__name__ for error, _ in RAISED])
def test_exception_gives_its_outcome(error, outcome):
    assert fault.classify_error(error, name="look", timeout=2.5)[:2] == outcome


def test_timeout_without_seconds_says_in_time():
    assert fault.classify_error(DeadlineError(), name="look", timeout=None).content == "look gave no reply in time"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit()])
def test_foreign_exceptions_are_reraised(error):
    with pytest.raises(type(error)):
        fault.classify_error(error, name="look", timeout=None)


def test_calls_that_do_not_run_have_messages_with_the_reason():
    class Arguments(BaseModel, extra="forbid"):
        city: str

    with pytest.raises(ValidationError) as found:
        Arguments.model_validate({"town": "Oslo"})
    content = "invalid arguments for look: city: Field required; town: there is no such parameter"
    assert fault.misfit(found.value, name="look")[:2] == ("invalid", content)
    assert fault.unknown("lok", offered=["look", "find"])[:2] == (
        "invalid",
        "there is no tool 'lok'; the tools are: look, find",
    )
    assert fault.unknown("x" * 1000, offered=[]).content == f"there is no tool '{'x' * 80}'; the tools are: none"
    assert fault.unparsed("not JSON") == "malformed call: not JSON"


def test_trouble_follows_the_party_at_fault():
    for whose, status in (("policy", "retry"), ("infra_error", "infra_error")):
        error = fault.trouble("no connection", whose=whose)
        assert fault.classify_error(error, name="look", timeout=None).status == status and str(error) == "no connection"


@pytest.mark.parametrize("status, timeout_is, ends", ENDS)
def test_ending_follows_status_and_timeout_is(status, timeout_is, ends):
    assert fault.machinery(status, timeout_is=timeout_is) is ends
    reply = ToolReply("c0", "look", "it died", status)
    expected = Ending("infra_error", "tool 'look': it died") if ends else None
    assert fault.ending(reply, timeout_is=timeout_is) == expected
