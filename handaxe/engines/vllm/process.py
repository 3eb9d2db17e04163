"""A vLLM server as a subprocess on this machine, which ends when this process does, however that ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from handaxe.core.errors import InputError
from handaxe.engines.vllm import watchdog as vllm_watch

__all__ = ["Launch", "Running", "ServerProcess", "free_port", "server_options"]

PYTHON = "HANDAXE_VLLM_PYTHON"
"""The variable that says which interpreter has vLLM, where it is not this one."""
HEAD, TAIL = 1 << 20, 3000
FIRST_ERROR = re.compile(r"^(?:\([^)]*\) )?(?:ERROR [^\]]*\] )?(\w*(?:Error|Exception): .*)$", re.MULTILINE)
"""Characters of a log that an error shows."""


class Running(Protocol):
    """A server that was started, wherever it runs."""

    url: str

    def alive(self) -> bool:
        """Whether its processes are there; it need not answer yet."""
        ...

    def tail(self) -> str:
        """The first error that it named, and the end of what it said."""
        ...

    def stop(self) -> None:
        """End it and all of its processes, now. Called again, it does nothing."""
        ...


Launch = Callable[[int, Path], Running]
"""Starts the server of this number, of the model whose config.json is in the folder, and does not wait for it."""


def server_options(*, dtype: str = "float32", max_length: int | None = None, backend: str = "handaxe") -> list[str]:
    """What a server must be started with to sample for handaxe, besides `--model`.

    Its environment needs handaxe (`pip install --no-deps handaxe`, torch, numpy) for the plugin, and the variables
    VLLM_SERVER_DEV_MODE=1, for the routes that change weights, and VLLM_USE_V2_MODEL_RUNNER=0, since the plugin is
    written for vLLM's first model runner. Anyone who reaches the port can change the weights: bind it to a private
    address.

    Args:
        dtype: of the weights and all that is computed; "float32" samples what a trainer in float32 says.
        max_length: most tokens of one sequence; None: what the model's configuration says.
        backend: how weights arrive: "handaxe" from files, "nccl" from a GPU.
    """
    options = ["--tokens-only", "--skip-tokenizer-init", "--dtype", dtype]
    options += ["--logits-processors", "handaxe.engines.vllm.plugin:HandaxeDraws"]
    options += ["--logprobs-mode", "processed_logits"]
    options += ["--weight-transfer-config", json.dumps({"backend": backend})]
    return [*options, *(["--max-model-len", str(max_length)] if max_length else [])]


def free_port() -> int:
    """A port of the loopback address that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ServerProcess:
    """Start a server; implements `Running`.

    Args:
        folder: holds the model's config.json; weights are not read.
        options: of `python -m vllm.entrypoints.openai.api_server`, such as `server_options()`.
        python: an interpreter that has vLLM and handaxe. None: the variable HANDAXE_VLLM_PYTHON says, else this one.
        environment: variables set for the server besides those of this process, such as CUDA_VISIBLE_DEVICES.

    Raises:
        InputError: there is no such interpreter.
    """

    def __init__(
        self,
        folder: Path,
        options: Sequence[str],
        *,
        python: str | None = None,
        environment: Mapping[str, str] | None = None,
    ):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        python = python or os.environ.get(PYTHON) or sys.executable
        command = [python, vllm_watch.__file__, python, "-m", "vllm.entrypoints.openai.api_server"]
        command += ["--model", str(folder), "--load-format", "dummy", "--host", "127.0.0.1", "--port", str(port)]
        variables = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_USE_V2_MODEL_RUNNER": "0", "VLLM_NO_USAGE_STATS": "1"}
        variables |= {"HF_HUB_OFFLINE": "1", "VLLM_PLUGINS": "handaxe"}
        self._log = tempfile.TemporaryFile(prefix="handaxe-vllm-")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.PIPE,  # its other end closes with this process: see vllm_watch
                stdout=self._log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables, **(environment or {})},
                start_new_session=True,  # Ctrl-C is for this process alone, which then stops the server
            )
        except OSError as error:
            self._log.close()
            raise InputError(
                f"no vLLM server can be started with {python}: {error}. Set {PYTHON} to the python of an environment "
                "that has vllm and handaxe"
            ) from error

    @property
    def pid(self) -> int:
        """Of the watcher, whose group holds all of the server's processes."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def tail(self) -> str:
        """The first error that its log names, which vLLM's own end says nothing of, and the log's end."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        end = os.pread(self._log.fileno(), TAIL, max(0, size - TAIL)).decode(errors="replace")
        first = FIRST_ERROR.search(os.pread(self._log.fileno(), HEAD, 0).decode(errors="replace"))
        return end if first is None or first[1] in end else f"{first[1]} ... {end}"

    def stop(self) -> None:
        """Kill its group: the watcher, the server and whatever that started."""
        if self._log.closed:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._log.close()
