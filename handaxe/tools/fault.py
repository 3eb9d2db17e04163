"""Decides whose fault it is when a call goes wrong, and what the policy reads of it. The only place that does.

    what happened                                  status         whose fault, and what follows
    the function returned                          ok
    it raised Retry                                retry          the policy's, which reads the message
    it raised Failed                               failed         the same
    the arguments do not fit                       invalid        the policy's, which reads what does not fit
    there is no such tool, or it is not offered    invalid        the policy's, which reads which tools there are
    a call could not be parsed                     (no reply)     the policy's, which reads why
    no reply in time                               timeout        as `timeout_is` says
    it raised anything else                        infra_error    the machinery's

What is the machinery's fault ends the trajectory as infra_error, which is never scored, and the policy never reads it;
a client of a server gets a protocol error. What is the policy's fault is a tool message, for a client a result marked
as an error.

What a policy wrote may be what no protocol can carry; it is looked at before it is sent (`check_sendable`), or it would
end the session of its tool, which is the machinery's fault.
"""

import asyncio
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from handaxe.core.errors import Failed, InfrastructureError, Retry
from handaxe.core.records import Ending, Status, ToolReply
from handaxe.ops.nesting import DEEPEST, deeper, strings
from handaxe.tools.deadline import DeadlineError
from handaxe.tools.text import explain

__all__ = [
    "CallOutcome",
    "TimeoutIs",
    "check_sendable",
    "ending",
    "machinery",
    "misfit",
    "of_error",
    "trouble",
    "unknown",
    "unparsed",
]

TimeoutIs = Literal["infra_error", "policy"]
"""Whose fault a timeout is."""


class CallOutcome(NamedTuple):
    """What came of a call. `content` is for the policy, unless the machinery failed: then for the record only."""

    status: Status
    content: str


def of_error(error: BaseException, *, name: str, timeout: float | None) -> CallOutcome:
    """The outcome of a call whose function raised this; raises it again where it is not the tool's doing (Ctrl-C).

    Args:
        error: what was raised; a DeadlineError means that there was no reply in time.
        name: of the tool.
        timeout: seconds it had, None where the caller decided.
    """
    if isinstance(error, Retry):
        return CallOutcome("retry", str(error))
    if isinstance(error, Failed):
        return CallOutcome("failed", str(error))
    if isinstance(error, DeadlineError):
        return CallOutcome(
            "timeout", f"{name} gave no reply {'in time' if timeout is None else f'within {timeout:g} seconds'}"
        )
    # A tool that calls sys.exit, or whose task is cancelled from inside, must not take the run along.
    if isinstance(error, Exception | SystemExit | asyncio.CancelledError):
        return CallOutcome("infra_error", "".join(traceback.format_exception_only(error)).strip())
    raise error


def misfit(error: ValidationError, *, name: str) -> CallOutcome:
    """The outcome of a call whose arguments do not fit."""
    return CallOutcome("invalid", f"invalid arguments for {name}: {explain(error)}")


def unknown(name: str, *, offered: Iterable[str]) -> CallOutcome:
    """The outcome of a call to a tool that is not offered."""
    return CallOutcome("invalid", f"there is no tool {name[:80]!r}; the tools are: {', '.join(offered) or 'none'}")


def unparsed(error: str) -> str:
    """What a policy reads of a call that could not be parsed."""
    return f"malformed call: {error}"


def check_sendable(arguments: Mapping[str, Any]) -> None:
    """Raise Retry when no server could be sent these arguments: the policy reads why, and the session goes on."""
    if deeper(arguments, DEEPEST):
        raise Retry(f"the arguments are nested more than {DEEPEST} deep, which cannot be sent")
    try:
        for text in strings(arguments):
            text.encode()
    except UnicodeEncodeError:
        raise Retry("the arguments hold half a character (a lone surrogate), which cannot be sent") from None


def trouble(what: str, *, whose: TimeoutIs) -> Retry | InfrastructureError:
    """What a tool raises for trouble that is `whose` fault."""
    return Retry(what) if whose == "policy" else InfrastructureError(what)


def machinery(status: Status, *, timeout_is: TimeoutIs) -> bool:
    """Whether a reply of this status is the machinery's fault."""
    return status == "infra_error" or (status == "timeout" and timeout_is == "infra_error")


def ending(reply: ToolReply, *, timeout_is: TimeoutIs) -> Ending | None:
    """How a trajectory ends with this reply; None: it goes on, and the policy reads the reply."""
    if machinery(reply.status, timeout_is=timeout_is):
        return Ending("infra_error", f"tool {reply.name!r}: {reply.content}")
    return None
