"""Environment of a rollout from opening to closing, shared by a plan and its worker threads."""

import threading
import warnings
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory, OnOpen
from handaxe.core.records import Ending, Message, Task, ToolSchema
from handaxe.core.requests import AuxChat, Stopped, Work

__all__ = ["EnvSession", "Opened", "State", "infra_error", "work"]

UNLIMITED = 1 << 30
"""Turn limit of a session that was told none."""


class State(NamedTuple):
    """Result of an environment's `snapshot`."""

    value: Any


class Opened(NamedTuple):
    """Opening messages and tools of an environment, and its state then if snapshots are on."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    state: State | None


class EnvSession:
    """Makes an environment and closes it exactly once, from any thread, even during construction.

    `open`, `snapshot` and `report_and_close` may block: call them in a `Work`. `close` is for a plan that ends early:
    it closes at once or, during `open` in another thread, right after `open`.

    Args:
        make: the attempt's factory.
        task: argument of `make`.
        state: state to begin at; None is the start.
        snapshots: True: `open` takes a snapshot.
        name: of the attempt, for messages.

    Example:
        messages, tools, state = yield Work(session.open); ...; facts = yield Work(session.report_and_close)

    Idea: making and closing may block or fail, so they are requests of the plan like any other.
    """

    def __init__(self, make: EnvFactory, task: Task, *, name: str, state: State | None = None, snapshots: bool = False):
        self._make, self._task = make, task
        self._aux_policies: Mapping[str, AuxChat] = {}
        self._max_turns = UNLIMITED
        self._name = name
        self._state, self._snapshots = state, snapshots
        self._lock, self._finishing = threading.Lock(), threading.Lock()
        self._env: Env | None = None
        self._closed = False
        self._facts: dict[str, Any] = {}
        self._failure: BaseException | None = None

    @property
    def env(self) -> Env:
        """The environment, between `open` and closing."""
        if self._env is None:
            raise RuntimeError(f"attempt {self._name} has no environment now")
        return self._env

    def inform(self, *, aux_policies: Mapping[str, AuxChat], max_turns: int) -> None:
        """Set the auxiliary policies and the turn limit that an environment with `on_open` receives."""
        self._aux_policies, self._max_turns = aux_policies, max_turns

    def open(self) -> Opened:
        """Make and start the environment, and restore the initial state.

        Raises:
            InputError: the environment cannot be forked. Errors of the environment are raised after closing it.
        """
        if self._closed:
            raise RuntimeError(f"attempt {self._name} is over")
        env = self._make(self._task)
        try:
            if isinstance(env, OnOpen):
                env.on_open(aux_policies=self._aux_policies, max_turns=self._max_turns)
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
        """Take a snapshot. Raises InputError if the environment cannot be forked."""
        return _snapshot(self.env)

    def restore(self, state: State) -> None:
        """Restore a state. Raises InputError if the environment cannot be forked."""
        _restore(self.env, state)

    def report_and_close(self) -> Mapping[str, Any]:
        """Return the environment's report and close it. Further calls return the same report."""
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
        """Close without a report. Does nothing if already closed."""
        env = self._take()
        if env is not None:
            self._close_env(env)

    def _take(self) -> Env | None:
        """The environment for the first caller, who closes it; None for later callers."""
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
    """Ending of a rollout whose environment raised this error: not the policy's fault."""
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
    """Yield a Work; returns its result, or the rollout's ending if the environment failed."""
    try:
        return (yield Work(call, opens, back)), None
    except (InputError, Stopped):
        raise
    except Exception as error:
        return None, infra_error(error)
