"""Recipes that change who gets the credit."""

__all__: list[str] = []
