"""`handaxe view` of a folder in a subprocess: `with viewer(folder) as port`."""

import contextlib
import http.client
import resource
import subprocess
import sys

MAIN = "import sys; from handaxe.cli import main; sys.exit(main(sys.argv[1:]))"


@contextlib.contextmanager
def viewer(folder, *, files=None):
    """Serve a folder and yield the port.

    Args:
        folder: argument of the command.
        files: most open files of the process.
    """

    def limit():
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-c", MAIN, "view", folder, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=limit) as process:
        try:
            line = process.stderr.readline().decode()
            assert line.startswith("open http://localhost:"), line
            yield int(line.split("http://localhost:")[1].split("/")[0])
        finally:
            process.kill()


def get(port, path, *, method="GET", headers=None):
    """Status and body of a request."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path, headers={"Host": f"localhost:{port}", **(headers or {})})
        response = connection.getresponse()
        return response.status, response.read()
