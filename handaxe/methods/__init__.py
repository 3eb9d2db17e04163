"""What a recipe is, how one is found by name, and how a run is built from it."""

__all__: list[str] = []
