"""Listens at an address, for servers of tools, policies and pages."""

import socket

from handaxe.core.errors import InputError

__all__ = ["listen"]

WAITING = 128
"""Connections that may wait until they are accepted."""


def listen(host: str, port: int) -> socket.socket:
    """A socket at which clients can connect from now on. Tell the address after this: who connects at once then waits
    for the server to come up, and is not refused.

    Args:
        host: the first address that it stands for is taken.
        port: 0 takes a free one.

    Raises:
        InputError: a port that is not valid, a host that is not known, or an address that is taken.
    """
    if not 0 <= port < 65536:
        raise InputError(f"port {port} is not valid: give 1 to 65535, or 0 for a free one")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(WAITING)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        said = error.strerror or error
        raise InputError(f"cannot listen at {host} port {port}: {said}; give another port, or another host") from None
    return listening
