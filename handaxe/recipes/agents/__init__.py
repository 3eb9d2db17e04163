"""Recipes of whole agents."""

__all__: list[str] = []
