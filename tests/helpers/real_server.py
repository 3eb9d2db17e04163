"""`transformers serve` of a folder, in a subprocess: `with transformers_serve(folder) as url`."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec

import pytest


@contextlib.contextmanager
def transformers_serve(folder, *options):
    """Serve a folder and yield the base address; the model's name is the folder. Skips without the packages."""
    missing = [name for name in ("transformers", "fastapi", "uvicorn", "openai") if not find_spec(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} missing")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder), *options]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"], env=env, stdout=log, stderr=log
    )
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()
