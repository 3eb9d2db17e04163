"""Recipes with a judge: a scorer with parameters of its own, which may learn beside the policy."""

__all__: list[str] = []
