"""An attempt's environment from its making to its closing, shared by a plan and the threads that work for it."""

import threading
import warnings
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Ending, Message, Task, ToolSchema
from handaxe.core.requests import Stopped, Work

__all__ = ["EnvSession", "Opened", "State", "infra_error", "work"]


class State(NamedTuple):
    """What an environment's `snapshot` returned."""

    value: Any


class Opened(NamedTuple):
    """What an environment said when it was started, and its state then, where that was asked for."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    state: State | None


class EnvSession:
    """Makes an environment, and closes it exactly once, from whichever thread and whether or not it is made by then.

    `open`, `snapshot` and `report_and_close` may block and are meant for `Work`. `close` is for a plan that is not
    going on: it closes at once, or, while `open` is still at work in some thread, has it close what it made.

    Args:
        make: the attempt's factory.
        task: for it.
        state: where to begin, when not at the start.
        snapshots: whether `open` takes a snapshot.
        name: of the attempt, for messages.

    Example:
        messages, tools, state = yield Work(session.open); ...; facts = yield Work(session.report_and_close)

    Idea: making and closing may block or fail, so they are requests of the plan like any other.
    """

    def __init__(self, make: EnvFactory, task: Task, *, name: str, state: State | None = None, snapshots: bool = False):
        self._make, self._task = make, task
        self._name = name
        self._state, self._snapshots = state, snapshots
        self._lock, self._finishing = threading.Lock(), threading.Lock()
        self._env: Env | None = None
        self._closed = False
        self._facts: dict[str, Any] = {}
        self._failure: BaseException | None = None

    @property
    def env(self) -> Env:
        """The environment, between `open` and the closing."""
        if self._env is None:
            raise RuntimeError(f"attempt {self._name} has no environment now")
        return self._env

    def open(self) -> Opened:
        """Make and start the environment, and bring it to the state to begin at.

        Raises:
            InputError: when it cannot be forked. Whatever the environment raises is raised, and what was made closed.
        """
        if self._closed:
            raise RuntimeError(f"attempt {self._name} is over")
        env = self._make(self._task)
        try:
            messages, tools = env.start()
            if self._state is not None:
                _restore(env, self._state)
            state = _snapshot(env) if self._snapshots else None
        except BaseException:
            self._close_env(env)
            raise
        with self._lock:
            closed = self._closed
            self._env = None if closed else env
        if closed:
            self._close_env(env)
        return Opened(tuple(messages), tuple(tools), state)

    def snapshot(self) -> State:
        """The state now. Raises InputError when the environment cannot be forked."""
        return _snapshot(self.env)

    def restore(self, state: State) -> None:
        """Go back to a state. Raises InputError when the environment cannot be forked."""
        _restore(self.env, state)

    def report_and_close(self) -> Mapping[str, Any]:
        """The environment's report; it is closed then. Called again, it gives the same report, once there is one."""
        with self._finishing:  # a second caller waits for the report of the first
            env = self._take()
            if env is not None:
                try:
                    self._facts = dict(env.report())
                except BaseException as error:
                    self._failure = error
                finally:
                    self._close_env(env)
        if self._failure is not None:
            raise self._failure
        return self._facts

    def close(self) -> None:
        """Close without a report. Nothing happens when that is done already."""
        env = self._take()
        if env is not None:
            self._close_env(env)

    def _take(self) -> Env | None:
        """The environment for the first caller, who closes it; None for every later one."""
        with self._lock:
            self._closed = True
            env, self._env = self._env, None
            return env

    def _close_env(self, env: Env) -> None:
        try:
            env.close()
        except Exception as error:
            warnings.warn(f"attempt {self._name}: closing its environment failed: {error!r}", stacklevel=3)


def infra_error(error: Exception) -> Ending:
    """How an attempt ends whose environment raised this: it is not the policy's fault."""
    return Ending("infra_error", f"{type(error).__name__}: {error}")


def _snapshot(env: Env) -> State:
    try:
        return State(env.snapshot())
    except (AttributeError, NotImplementedError) as error:
        raise _unforkable(env, error) from error


def _restore(env: Env, state: State) -> None:
    try:
        env.restore(state.value)
    except (AttributeError, NotImplementedError) as error:
        raise _unforkable(env, error) from error


def _unforkable(env: Env, error: Exception) -> InputError:
    return InputError(
        f"{type(env).__name__} cannot be forked ({type(error).__name__}: {error}): give it snapshot() and "
        "restore(state), or choose a rollout that does not fork"
    )


def work(
    call: Callable[[], Any], *, opens: EnvFactory | None = None, back: bool = False
) -> Generator[Work, Any, tuple[Any, Ending | None]]:
    """What came of it; or how the attempt ends, for an environment that dies is not the policy's fault."""
    try:
        return (yield Work(call, opens, back)), None
    except (InputError, Stopped):
        raise
    except Exception as error:
        return None, infra_error(error)
