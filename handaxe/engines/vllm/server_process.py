"""vLLM server as a local subprocess; ends with the parent process, even if the parent is killed."""

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
from handaxe.engines.vllm import watchdog

__all__ = ["Launch", "RunningServer", "ServerProcess", "free_port", "server_options"]

PYTHON = "HANDAXE_VLLM_PYTHON"
"""Environment variable: path of a Python interpreter with vLLM, if different from this one."""
NO_DOMAIN = "nothing.invalid"
"""A name without an address (RFC 2606)."""
HEAD, TAIL = 1 << 20, 3000
"""Bytes of a log searched for the first error, and bytes of its end shown in an error message."""
FIRST_ERROR = re.compile(r"^(?:\([^)]*\) )?(?:ERROR [^\]]*\] )?(\w*(?:Error|Exception): .*)$", re.MULTILINE)


class RunningServer(Protocol):
    """A started server, on any machine."""

    url: str

    def alive(self) -> bool:
        """Return True while the processes run, even before the server answers requests."""
        ...

    def tail(self) -> str:
        """Return the first error and the end of the log."""
        ...

    def stop(self) -> None:
        """Kill all processes of the server. Idempotent."""
        ...


Launch = Callable[[int, Path], RunningServer]
"""Starts server number n for the model of the config.json in a folder, without waiting for it."""


def server_options(
    *, dtype: str = "float32", max_length: int | None = None, backend: str = "handaxe", images: int = 0
) -> list[str]:
    """Command line options of a vLLM server for handaxe, in addition to `--model`.

    The server's environment needs handaxe (`pip install --no-deps handaxe`, torch, numpy) for the plugin, and the
    variables VLLM_SERVER_DEV_MODE=1, for the routes that update weights, and VLLM_USE_V2_MODEL_RUNNER=0, because the
    plugin is written for vLLM's first model runner. Anyone who reaches the port can change the weights: bind it to a
    private address.

    Args:
        dtype: of weights and computation; "float32" matches the log-probs of a trainer in float32.
        max_length: most tokens of a sequence; None: the limit of the model's configuration.
        backend: weight transfer backend: "handaxe" reads files, "nccl" receives from a GPU.
        images: most images of a request to a vision model; 0 for a model of text. A server of a vision model needs the
            files of processor and tokenizer beside config.json, and fetches no url.
    """
    options = ["--tokens-only", "--skip-tokenizer-init"]
    if images:
        # With --tokens-only there is no tokenizer, which image processors need. Without a domain, vLLM fetches any url.
        options = ["--enable-scale-out", "--limit-mm-per-prompt", json.dumps({"image": images, "video": 0})]
        options += ["--allowed-media-domains", NO_DOMAIN]
    options += ["--dtype", dtype]
    options += ["--logits-processors", "handaxe.engines.vllm.plugin:HandaxeDraws"]
    options += ["--logprobs-mode", "processed_logits"]
    options += ["--weight-transfer-config", json.dumps({"backend": backend})]
    return [*options, *(["--max-model-len", str(max_length)] if max_length else [])]


def free_port() -> int:
    """A free port of the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ServerProcess:
    """Starts a server; implements `RunningServer`.

    Args:
        folder: with the model's config.json; weights are not read.
        options: of `python -m vllm.entrypoints.openai.api_server`, such as `server_options()`.
        python: an interpreter with vLLM and handaxe; None: the variable HANDAXE_VLLM_PYTHON, else this interpreter.
        environment: additional environment variables of the server, such as CUDA_VISIBLE_DEVICES.

    Raises:
        InputError: the interpreter does not exist.
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
        command = [python, watchdog.__file__, python, "-m", "vllm.entrypoints.openai.api_server"]
        command += ["--model", str(folder), "--load-format", "dummy", "--host", "127.0.0.1", "--port", str(port)]
        variables = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_USE_V2_MODEL_RUNNER": "0", "VLLM_NO_USAGE_STATS": "1"}
        variables |= {"HF_HUB_OFFLINE": "1", "VLLM_PLUGINS": "handaxe"}
        self._log = tempfile.TemporaryFile(prefix="handaxe-vllm-")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.PIPE,  # closes with this process, which ends the server: see watchdog
                stdout=self._log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables, **(environment or {})},
                start_new_session=True,  # Ctrl-C reaches only this process, which then stops the server
            )
        except OSError as error:
            self._log.close()
            raise InputError(
                f"cannot start a vLLM server with {python}: {error}. Set {PYTHON} to the python of an environment with "
                "vllm and handaxe"
            ) from error

    @property
    def pid(self) -> int:
        """Process id of the watchdog, the leader of the group of the server's processes."""
        return self._process.pid

    def alive(self) -> bool:
        """True while the watchdog runs."""
        return self._process.poll() is None

    def tail(self) -> str:
        """The first error in the log, which is missing from vLLM's last lines, and the end of the log."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        end = os.pread(self._log.fileno(), TAIL, max(0, size - TAIL)).decode(errors="replace")
        first = FIRST_ERROR.search(os.pread(self._log.fileno(), HEAD, 0).decode(errors="replace"))
        return end if first is None or first[1] in end else f"{first[1]} ... {end}"

    def stop(self) -> None:
        """Kill the process group: watchdog, server and child processes."""
        if self._log.closed:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._log.close()
