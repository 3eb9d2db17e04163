"""Names of models on chat servers: http://HOST/v1#NAME."""

from __future__ import annotations

from handaxe.core.errors import InputError

__all__ = ["is_address", "split_address"]


def is_address(source: str) -> bool:
    """Return True for a text that begins like an address of a server.

    Example:
        True for "http://127.0.0.1:8000/v1#tiny" and "https://host", False for "tiny"
    """
    return source.startswith(("http://", "https://"))


def split_address(source: str, *, option: str) -> tuple[str, str]:
    """Split the name of a served model into address and model.

    Args:
        source: ADDRESS#NAME.
        option: whose value it is, for the error.

    Raises:
        InputError: there is no model behind the address.

    Example:
        "http://127.0.0.1:8000/v1#tiny" -> "http://127.0.0.1:8000/v1", "tiny"
    """
    address, _, model = source.partition("#")
    if not (address and model):
        raise InputError(f"{option} {source!r}: write the model behind the address, http://HOST/v1#NAME".lstrip())
    return address, model
