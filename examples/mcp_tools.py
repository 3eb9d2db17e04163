"""Let a policy use the tools of an MCP server: `python mcp_tools.py COMMAND ...`, the command that starts it."""

import sys

from handaxe.core.records import Message, Sampling, Task
from handaxe.core.requests import Attempt
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.load import load
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.tools.mcp import mcp

model, chat = load("tiny")
engine = LocalEngine(model)
with mcp(command=sys.argv[1:], warm=2) as tools:
    task = Task("sum", (Message("user", "12*34=?"),), answer="408")
    attempts = [
        Attempt(task, tool_chat([tools]), chat, Sampling(max_tokens=64), f"attempt {k}", k, k, engine.max_length)
        for k in range(2)
    ]
    for (trajectory,) in driver.run(attempts, linear(max_turns=3), engine):
        print(trajectory.id, trajectory.ending.kind)
        for message in trajectory.messages:
            print(f"  {message.role:9} {message.content} {[dict(call.arguments) for call in message.calls] or ''}")
