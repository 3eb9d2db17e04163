"""Recipes that change which attempts train."""

__all__: list[str] = []
