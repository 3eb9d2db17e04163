"""Fault, status and reply of failed tool calls, all decided in this file.

    event                                          status         fault and consequence
    the function returned                          ok
    it raised Retry                                retry          the policy's; the policy reads the message
    it raised Failed                               failed         the policy's; the policy reads the message
    invalid arguments                              invalid        the policy's; the policy reads the errors
    unknown tool, or a tool that is not offered    invalid        the policy's; the policy reads the tools' names
    a call could not be parsed                     (no reply)     the policy's; the policy reads the error
    no reply in time                               timeout        as `timeout_is` states
    it raised anything else                        infra_error    the infrastructure's

A fault of the infrastructure ends the trajectory as infra_error, which is never scored (see `core.endings`); the policy
never reads the reply, and a client of a server gets a protocol error. A fault of the policy becomes a tool message, or
a result marked as an error for a client of a server. So a tool that times out ends its trajectory as infra_error by
default, and with timeout_is="policy" the trajectory continues.

Arguments that no protocol can represent are checked before sending (`check_sendable`): sent, they would end the tool's
session, a fault of the infrastructure.
"""

import asyncio
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from handaxe.core.errors import Failed, InfrastructureError, Retry
from handaxe.core.images import Image
from handaxe.core.records import Ending, Status, ToolReply
from handaxe.ops.nested_values import MAX_NESTING, exceeds_depth, iter_strings
from handaxe.tools.deadline import DeadlineError
from handaxe.tools.text import explain_validation

__all__ = [
    "CallOutcome",
    "TimeoutIs",
    "check_sendable",
    "classify_error",
    "ending",
    "machinery",
    "misfit",
    "trouble",
    "unknown",
    "unparsed",
]

TimeoutIs = Literal["infra_error", "policy"]
"""Party at fault for a timeout."""


class CallOutcome(NamedTuple):
    """Outcome of a call. `content` is for the policy, or for the record only after a fault of the infrastructure;
    `images` stand beside it as in `ToolReply`."""

    status: Status
    content: str
    images: tuple[Image, ...] = ()


def classify_error(error: BaseException, *, name: str, timeout: float | None) -> CallOutcome:
    """Return the outcome of a call whose function raised; re-raises errors outside the tool's control (Ctrl-C).

    Args:
        error: the exception; a DeadlineError stands for a missing reply.
        name: of the tool.
        timeout: its seconds; None for the caller's limit.
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
    """Return the outcome of a call with invalid arguments."""
    return CallOutcome("invalid", f"invalid arguments for {name}: {explain_validation(error)}")


def unknown(name: str, *, offered: Iterable[str]) -> CallOutcome:
    """Return the outcome of a call to a tool that is not offered."""
    return CallOutcome("invalid", f"there is no tool {name[:80]!r}; the tools are: {', '.join(offered) or 'none'}")


def unparsed(error: str) -> str:
    """Format the tool message for a call that could not be parsed."""
    return f"malformed call: {error}"


def check_sendable(arguments: Mapping[str, Any]) -> None:
    """Raise Retry for arguments that cannot be sent to a server: the policy reads the reason, and the session
    continues."""
    if exceeds_depth(arguments, MAX_NESTING):
        raise Retry(f"the arguments are nested more than {MAX_NESTING} deep, which cannot be sent")
    try:
        for text in iter_strings(arguments):
            text.encode()
    except UnicodeEncodeError:
        raise Retry("the arguments hold half a character (a lone surrogate), which cannot be sent") from None


def trouble(what: str, *, whose: TimeoutIs) -> Retry | InfrastructureError:
    """Make the exception for trouble by the party at fault, `whose`."""
    return Retry(what) if whose == "policy" else InfrastructureError(what)


def machinery(status: Status, *, timeout_is: TimeoutIs) -> bool:
    """Test whether a reply of this status is the infrastructure's fault."""
    return status == "infra_error" or (status == "timeout" and timeout_is == "infra_error")


def ending(reply: ToolReply, *, timeout_is: TimeoutIs) -> Ending | None:
    """Return the ending that a reply causes; None if the trajectory continues and the policy reads the reply."""
    if machinery(reply.status, timeout_is=timeout_is):
        return Ending("infra_error", f"tool {reply.name!r}: {reply.content}")
    return None
