"""What is looked at before an expensive run: each check with what it found and what to do about it."""

__all__: list[str] = []
