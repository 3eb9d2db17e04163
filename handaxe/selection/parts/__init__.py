"""Shared parts of selectors."""

__all__: list[str] = []
