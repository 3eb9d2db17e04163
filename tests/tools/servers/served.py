"""Tools of the library behind MCP: `python served.py [PORT]`, stdio without a port."""

import sys

from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.tools.serve import serve

closings = []


class Counter:
    """Counter of one client."""

    def __init__(self):
        self.total = 0

    @tool
    def count(self) -> int:
        """Count on."""
        print("tools may print")
        self.total += 1
        return self.total

    def close(self):
        """Tell that a client is gone."""
        closings.append(self.total)


@tool
def crash() -> str:
    """Die of something."""
    raise KeyError("internal secret")


@tool(name="closings")
def how_many_closings() -> int:
    """How many clients are gone."""
    return len(closings)


if __name__ == "__main__":
    tools = [Counter, calculator, crash, how_many_closings]
    if len(sys.argv) > 1:
        serve(tools, transport="http", port=int(sys.argv[1]))
    else:
        serve(tools)
