"""Program of the sandbox: a function in a forked process, with limits on processor time and wall time.

It needs only the standard library. `forking_runner` sends the text of this file to a sandboxed session, before the text
of a harness, and hands `fork_child` to the harness.

Kept: `forking_runner` reads the file as text.
"""

import os
import select
import signal

__all__ = ["fork_child"]


def fork_child(work, *, seconds, wall, longest):
    """Run `work()` in a child process, and return its line and the end of the process.

    The child has no streams and no open files except one pipe; descriptor 3. It writes the text that `work` returns,
    and exits. Code of a child can write to the pipe as well, so that the reader checks the form of the line.

    Args:
        work: function without arguments that returns one line of text.
        seconds: processor time, after which the kernel ends the child.
        wall: seconds without output, after which the child is killed.
        longest: bytes of the line.

    Returns:
        (line, end): end is "" for a line that ends with a newline; else the line is "" and end is "timeout" (processor
        time), "late" (wall time) or "crash".

    Example:
        fork_child(lambda: "[1, 2]", seconds=1, wall=10, longest=100) == ("[1, 2]", "")

    Idea: a session that has imported its packages once runs each program in a fork, in milliseconds.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _be_child(work, write, seconds)
        finally:
            os._exit(1)
    os.close(write)
    data, late = b"", False
    while len(data) < longest and not late:
        late = not select.select([read], [], [], wall)[0]
        piece = b"" if late else os.read(read, 2**16)
        if not piece:
            break
        data += piece
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    os.close(read)
    if not late and data.endswith(b"\n"):
        return data.decode(errors="replace")[:-1], ""
    slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
    return "", "late" if late else "timeout" if slow else "crash"


def _be_child(work, write, seconds):
    """Call the function, write its line, and exit."""
    os.dup2(write, 3)
    os.closerange(4, 256)
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    data = (work() + "\n").encode()
    while data:
        data = data[os.write(3, data) :]
    os._exit(0)
