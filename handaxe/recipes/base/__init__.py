"""Base algorithms, which other recipes change: the plain one, and what papers made of it."""

__all__: list[str] = []
