"""What several selectors share."""

__all__: list[str] = []
