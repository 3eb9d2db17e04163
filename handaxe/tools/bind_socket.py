"""Listening sockets for servers of tools, policies and pages."""

import socket

from handaxe.core.errors import InputError

__all__ = ["bind_socket"]

BACKLOG = 128
"""Connections that may wait for acceptance."""


def bind_socket(host: str, port: int) -> socket.socket:
    """Open a listener socket.

    Announce the address after this call: clients that connect at once then wait for the server instead of being
    refused.

    Args:
        host: name or address; the first resolved address is taken.
        port: 0 for a free port.

    Raises:
        InputError: an invalid port, an unknown host, or an address in use.
    """
    if not 0 <= port < 65536:
        raise InputError(f"port {port} is not valid: give 1 to 65535, or 0 for a free one")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot listen at {host} port {port}: {reason}; give another port, or another host") from None
    return listener
