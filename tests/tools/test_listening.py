"""Who connects before the server runs waits; what cannot be listened at is told."""

import socket

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.listening import listen


def test_who_connects_at_once_waits():
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname(), timeout=60) as client:
        client.sendall(b"hello")
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.recv(5) == b"hello"


def test_what_cannot_be_listened_at():
    with listen("127.0.0.1", 0) as taken, pytest.raises(InputError, match="cannot listen at 127.0.0.1 port"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(InputError, match="cannot listen at no.such.host.invalid port 8000"):
        listen("no.such.host.invalid", 8000)
    with pytest.raises(InputError, match="port 99999 is not valid"):
        listen("127.0.0.1", 99999)
