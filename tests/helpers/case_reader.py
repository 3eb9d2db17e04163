"""A scripted policy in `coded_hops` that reads cases."""

from handaxe.core.records import ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.scripted_engine import ScriptedEngine


class CaseReader(ScriptedEngine):
    """Policy that searches the chain of the last successful case of the question's code.

    Without such a case the chain is `guess` of the person.
    """

    def __init__(self, world, guess):
        tools = world.env(world.tools)(world.tasks("train", 1, 0)[0]).start()[1]
        super().__init__(Compact(), self.say, tools=tools)
        self.guess = guess

    def say(self, text, turn):
        *cases, question = text.split("<USER>")[1].split("<END>")[0].split("\n")
        person, *path = question.removesuffix("?").split()
        if path[0].isupper():
            shown = [line.split()[3:] for line in cases if line.startswith("+") and line.split()[2] == f"{path[0]}:"]
            path = shown[-1] if shown else self.guess(person)
        if turn:
            person = text.split("<TOOL>")[-1].split("<END>")[0].split("\n")[0].split()[-1]
        return person if turn >= len(path) else ToolCall("search", {"query": f"{person} {path[turn]}"})
