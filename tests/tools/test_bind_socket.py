"""Early clients and invalid addresses."""

import socket

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.bind_socket import bind_socket


def test_early_client_waits_for_the_server():
    with (
        bind_socket("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname(), timeout=60) as client,
    ):
        client.sendall(b"hello")
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.recv(5) == b"hello"


def test_invalid_addresses_raise():
    with bind_socket("127.0.0.1", 0) as taken, pytest.raises(InputError, match="cannot listen at 127.0.0.1 port"):
        bind_socket("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(InputError, match="cannot listen at no.such.host.invalid port 8000"):
        bind_socket("no.such.host.invalid", 8000)
    with pytest.raises(InputError, match="port 99999 is not valid"):
        bind_socket("127.0.0.1", 99999)
