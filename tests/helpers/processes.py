"""SIGINT in tests, also for tests started with SIGINT ignored (a background job, nohup)."""

import contextlib
import signal
import subprocess


def restore_sigint():
    """Set SIGINT to its default; for `preexec_fn` of a child process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(command, **options):
    """Start a child process with the default handling of SIGINT.

    Args:
        command: program and arguments.
        options: of subprocess.Popen.
    """
    return subprocess.Popen(command, preexec_fn=restore_sigint, **options)


@contextlib.contextmanager
def interruptible():
    """Raise KeyboardInterrupt on SIGINT in this process."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
