"""Recipes that change what is rewarded."""

__all__: list[str] = []
