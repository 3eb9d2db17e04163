"""A tool with state that can be forked: text that turns write."""

from handaxe.tools.decorator import tool

__all__ = ["Pad"]


class Pad:
    """State: the texts of the turns before."""

    def __init__(self):
        self.said = []

    @tool
    def write(self, text: str) -> str:
        """Write; says all that was written."""
        self.said.append(text)
        return ",".join(self.said)

    def snapshot(self):
        return list(self.said)

    def restore(self, state):
        self.said = list(state)
