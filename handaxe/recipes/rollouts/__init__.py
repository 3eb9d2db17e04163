"""Recipes that change how attempts are played."""

__all__: list[str] = []
