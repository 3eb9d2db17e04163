"""Program inside the sandbox that runs a session's code.

It is a script that needs only the standard library, and gets its settings as JSON. It answers frames on a socket: four
bytes of length, then the body. A request is JSON; an answer is the request's nonce, "0" or "1" for failed, and text.
The host trusts nothing of this program: it reads the answer as text of bounded length written by the session.
"""

import ast
import base64
import gc
import importlib
import io
import json
import linecache
import os
import random
import resource
import signal
import struct
import sys
import traceback
import types

__all__ = ["Session", "main"]

INSIDE = 1
"""User of a worker that starts as root of its namespace; on the host it is an unprivileged user."""
STACK = 8 * 2**20
SIGNALS = 64
"""Most pending signals; without a limit the signals of one session would use up the limit of all processes of its
user."""
MORE = "..."


class Session:
    """Namespace of a sequence of programs."""

    def __init__(self, longest: int):
        self.longest = longest
        self.calls = 0
        self.running = False
        self.streams = (sys.stdout, sys.stderr)
        self.module = types.ModuleType("__main__")
        self.module.__dict__["__builtins__"] = __builtins__

    def run(self, code: str) -> tuple[str, bool]:
        """Run a program: returns the value of the last expression, or the traceback and True."""
        self.calls += 1
        name = f"<call {self.calls}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        sys.modules["__main__"] = self.module
        try:
            self.running = True
            try:
                value = self._execute(code, name)
                text, failed = self._show(value)
            finally:
                self.running = False
        except BaseException as error:
            text, failed = _explain(error), True
        for stream in (sys.stdout, sys.stderr, *self.streams):
            try:
                stream.flush()
            except BaseException:
                continue  # the code closed or replaced it
        # The host expects at most 4 bytes a character: a lone surrogate is escaped to six characters.
        text = text.encode(errors="backslashreplace").decode()
        if len(text) > self.longest:
            text = text[: self.longest // 2] + MORE + text[-self.longest // 2 :]
        return text, failed

    def _execute(self, code: str, name: str) -> object:
        tree = compile(code, name, "exec", ast.PyCF_ONLY_AST)
        assert isinstance(tree, ast.Module)
        scope = self.module.__dict__
        last = tree.body[-1] if tree.body else None
        if not isinstance(last, ast.Expr):
            exec(compile(tree, name, "exec"), scope)
            return None
        del tree.body[-1]
        exec(compile(tree, name, "exec"), scope)
        return eval(compile(ast.Expression(last.value), name, "eval"), scope)

    def _show(self, value: object) -> tuple[str, bool]:
        if value is None:
            return "", False
        try:
            return repr(value), False
        except Exception as error:
            return f"the value of the last expression cannot be shown: {_explain(error)}", True

    def on_interrupt(self, signum: int, frame: object) -> None:
        """Interrupt only code of the session, never this program."""
        if self.running:
            raise KeyboardInterrupt


def _explain(error: BaseException) -> str:
    """Format the traceback without this program's frames."""
    try:
        shown = traceback.TracebackException.from_exception(error)
        frames = [frame for frame in shown.stack if frame.filename != __file__]
        shown.stack = traceback.StackSummary.from_list(frames)
        return "".join(shown.format()).rstrip("\n")
    except BaseException:
        return f"{type(error).__name__}: (it cannot be shown)"


def main() -> None:
    """Become the user nobody, import the preloaded modules, set the limits, then answer until the host disconnects."""
    settings = json.loads(sys.argv[1])
    sys.argv = [""]
    channel = _open_channel()
    sys.path[0] = ""
    sys.path.append(settings["packages"])
    dropped = os.getuid() == 0
    if dropped:
        os.setgroups([])
        os.setresgid(INSIDE, INSIDE, INSIDE)
        os.setresuid(INSIDE, INSIDE, INSIDE)
    for name in settings["preload"]:
        importlib.import_module(name)
    gc.collect()
    _set_limits(settings, own=1 if dropped else 2)
    os.write(channel, b"ready")
    session = Session(settings["output"])
    signal.signal(signal.SIGINT, session.on_interrupt)
    while (request := _receive(channel)) is not None:
        text, failed = "", False
        if request["op"] == "begin":
            _begin(request)
        else:
            text, failed = session.run(request["code"])
        _send(channel, f"{request['nonce']}{int(failed)}{text}".encode())


def _open_channel() -> int:
    """Move the socket away from descriptor 0; printed output goes to a pipe, as 1 and 2."""
    channel = os.dup(0)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    return channel


def _set_limits(settings: dict, own: int) -> None:
    """Lower every limit for good. The memory limit excludes the interpreter."""
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {
        resource.RLIMIT_AS: size + settings["memory"],
        resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + 1 + settings["cpu"],
        resource.RLIMIT_FSIZE: settings["disk"],
        resource.RLIMIT_NOFILE: settings["open_files"],
        resource.RLIMIT_NPROC: own + settings["threads"] + settings["children"],
        resource.RLIMIT_STACK: STACK,
        # 1, not 0: with 0 the kernel still passes a core to a program that the host registered for cores.
        resource.RLIMIT_CORE: 1,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: SIGNALS,
    }
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _begin(request: dict) -> None:
    random.seed(request["seed"])
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(request["seed"] % 2**32)
    for name, content in request["files"].items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "wb") as file:
            file.write(base64.b64decode(content))


def _receive(channel: int) -> "dict | None":
    header = _exactly(channel, 4)
    return None if header is None else json.loads(_exactly(channel, struct.unpack(">I", header)[0]) or b"null")


def _exactly(channel: int, count: int) -> "bytes | None":
    data = b""
    while len(data) < count:
        piece = os.read(channel, count - len(data))
        if not piece:
            return None
        data += piece
    return data


def _send(channel: int, body: bytes) -> None:
    left = struct.pack(">I", len(body)) + body
    while left:
        left = left[os.write(channel, left) :]


if __name__ == "__main__":
    main()
