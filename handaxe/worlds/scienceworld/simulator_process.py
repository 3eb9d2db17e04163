"""Java process of ScienceWorld's simulator, with many environments in one process.

The package's own wrapper is not used for four reasons. The wrapper starts Java without a memory limit, opens a socket
without deadline and password, computes all valid actions after every step (most of the time), and serves one
environment per process.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import selectors
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from handaxe.core.errors import InfrastructureError, InputError

__all__ = ["HouseScene", "SceneState", "Simulator", "check_installed"]

STARTING = 120.0
"""Seconds for Java to start."""
OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:+UnlockExperimentalVMOptions",
    # Sets are ordered by identity hashes, so equal hashes make the order of objects reproducible.
    "-XX:hashCode=2",
)
SERVER = ("--die-on-broken-pipe", "--enable-auth", "0")
"""Options of py4j's server: end with this program, ask for a password, take any port."""
GOAL = re.compile(r"^\d+\t(true|false)\t\s*\S+\t(.*)$", re.MULTILINE)
"""Line of the package's report of subgoals."""
Value = TypeVar("Value")


class HouseScene(NamedTuple):
    """Start of an episode: kind of task, its variation, and simplifications of the package."""

    kind: str
    variation: int
    simplifications: str


class SceneState(NamedTuple):
    """State after an action.

    text    the simulator's reply
    look    the room
    score   -100 to 100
    over    the task is completed or lost
    goals   whether each subgoal of the package is met
    """

    text: str
    look: str
    score: int
    over: bool
    goals: tuple[bool, ...]

    @property
    def room(self) -> str:
        """Name of the room."""
        found = re.search(r"called the (.+?)\.", self.look)
        return found[1] if found else ""


def check_installed() -> None:
    """Check for the package and for Java.

    Raises:
        InputError: the extra scienceworld is not installed, or there is no Java.
    """
    missing = [name for name in ("scienceworld", "py4j") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"ScienceWorld needs {' and '.join(missing)}: pip install 'handaxe[scienceworld]'")
    if shutil.which("java") is None:
        raise InputError("ScienceWorld runs in Java, which is missing: apt-get install openjdk-17-jre-headless")


class Simulator:
    """Java process. One thread at a time may call it.

    Random numbers and object numbers are global in the process. Both are set before every step, so that a list of
    actions always leads to the same state, whatever other environments did in between.

    Args:
        memory: limit of the Java heap in MiB; the process needs some 100 MiB in addition.
        deadline: seconds for a reply.

    Raises:
        InfrastructureError: Java does not start.
    """

    def __init__(self, *, memory: int, deadline: float):
        self.deadline = deadline
        self._gateway: Any = None
        from py4j.java_gateway import find_jar_path

        # The package is located but not imported: its import reads an environment variable that starts a debugger.
        spec = importlib.util.find_spec("scienceworld")
        assert spec is not None and spec.origin is not None
        classes = os.pathsep.join((find_jar_path(), str(Path(spec.origin).with_name("scienceworld.jar"))))
        self.process = subprocess.Popen(
            ["java", f"-Xmx{memory}m", *OPTIONS, "-cp", classes, "py4j.GatewayServer", *SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
        )
        try:
            self._connect()
        except BaseException:
            self.stop()
            raise

    def _connect(self) -> None:
        from py4j.java_gateway import GatewayParameters, JavaGateway

        port, token = _lines(self.process, 2, STARTING)
        # The simulator prints, and a full pipe would stop it.
        threading.Thread(target=_drain, args=(self.process.stdout,), daemon=True, name="handaxe-scienceworld").start()
        settings = GatewayParameters(
            port=int(port),
            auth_token=token,
            auto_convert=False,
            read_timeout=self.deadline,
            # Otherwise Python's garbage collection waits for the process, and so waits for a hanging one.
            enable_memory_management=False,
        )
        logging.getLogger().addFilter(_without_py4j)
        self._gateway = JavaGateway(gateway_parameters=settings, java_process=self.process)
        # Both are objects of Scala, which Java reaches by reflection.
        self._random = self._guarded(lambda: self._class("scala.util.Random$").getField("MODULE$").get(None))
        self._ids = self._guarded(lambda: self._class("util.UniqueIdentifier$").getField("MODULE$").get(None))
        self._tasks: Any = None

    def _class(self, name: str) -> Any:
        return self._gateway.jvm.java.lang.Class.forName(name)

    def new(self) -> Any:
        """Create an environment.

        Raises:
            InfrastructureError: the process died, hangs or failed. This holds for all methods.
        """
        return self._guarded(lambda: self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface())

    def load(self, env: Any, scene: HouseScene, *, gold: bool = False) -> int:
        """Load a scene; returns the next object number."""

        def load() -> int:
            self._random.setSeed(0)
            env.load(*scene, gold)
            # Every load makes the table of all tasks, 10 MB, which only the next load reads.
            if self._tasks is None:
                self._tasks = env.taskMaker()
            getattr(env, "taskMaker_$eq")(self._tasks)
            return int(self._ids.count())

        return self._guarded(load)

    def step(self, env: Any, number: int, action: str, next_id: int) -> tuple[SceneState, int]:
        """Take action `number`; returns the state and the next object number."""

        def step() -> tuple[SceneState, int]:
            self._random.setSeed(number)
            getattr(self._ids, "count_$eq")(next_id)
            text = env.step(action)
            state = self._state(env, text)
            return state, int(self._ids.count())

        return self._guarded(step)

    def state(self, env: Any) -> SceneState:
        """Read the state of a loaded environment; the text is the package's description of the task."""
        return self._guarded(lambda: self._state(env, env.getTaskDescription()))

    def _state(self, env: Any, text: str) -> SceneState:
        goals = tuple(met == "true" for met, _ in GOAL.findall(env.getGoalProgressStr()))
        score = round(100 * env.getScore())
        return SceneState(text.strip(), env.freeActionLook().strip(), score, env.getCompleted() or score < 0, goals)

    def goals(self, env: Any) -> list[str]:
        """Read the texts of the subgoals."""
        return [text for _, text in GOAL.findall(self._guarded(env.getGoalProgressStr))]

    def gold(self, env: Any) -> list[str]:
        """Read the gold actions of an environment that was loaded with `gold`."""
        return self._guarded(lambda: list(env.getGoldActionSequence()))

    def variations(self, env: Any) -> dict[str, list[int]]:
        """Read the package's variations of the loaded kind, by split."""
        reads = {"train": env.getVariationsTrain, "dev": env.getVariationsDev, "test": env.getVariationsTest}
        return self._guarded(lambda: {name: [int(one) for one in read()] for name, read in reads.items()})

    def stop(self) -> None:
        """Kill the process and wait for its end."""
        self.process.kill()
        self.process.wait()
        if self._gateway is not None:
            self._gateway.close()
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def _guarded(self, call: Callable[[], Value]) -> Value:
        from py4j.protocol import Py4JError, Py4JJavaError

        begun = time.monotonic()
        try:
            return call()
        except Py4JJavaError as error:
            raise InfrastructureError(f"ScienceWorld failed: {' '.join(str(error).split())[:300]}") from None
        except (Py4JError, OSError) as error:
            late = time.monotonic() - begun >= self.deadline
            how = f"gave no reply within {self.deadline:g} seconds" if late else f"died ({type(error).__name__})"
            raise InfrastructureError(f"the Java process of ScienceWorld {how}") from None
        except AttributeError as error:
            if isinstance(error.__context__, KeyboardInterrupt):  # py4j fails while it handles Ctrl-C
                raise KeyboardInterrupt from None
            raise


def _lines(process: subprocess.Popen[bytes], count: int, seconds: float) -> list[str]:
    """Read the first lines of a process."""
    assert process.stdout is not None
    end, received = time.monotonic() + seconds, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while received.count(b"\n") < count:
            part = b""
            if selector.select(max(0.0, end - time.monotonic())):
                part = os.read(process.stdout.fileno(), 4096)
            if not part:
                said = f"; it printed {received.decode(errors='replace')[:100]!r}" if received else ""
                raise InfrastructureError(f"the Java process of ScienceWorld did not start{said}")
            received += part
    return received.decode().split("\n")[:count]


def _without_py4j(record: logging.LogRecord) -> bool:
    """Filter of the root logger: py4j logs tracebacks of lost connections there, beside the exception."""
    return not record.pathname.endswith(os.path.join("py4j", "java_gateway.py"))


def _drain(stream: IO[bytes]) -> None:
    """Read a stream to its end and close it."""
    with stream, contextlib.suppress(OSError, ValueError):
        while stream.read(2**16):
            pass
