"""Evaluate a model behind a chat server on sums, with a calculator: `python chat_server.py URL MODEL`."""

import sys

from handaxe.core.records import Sampling
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.evaluate import evaluate
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts import arithmetic_tasks as arithmetic

chat = Transcript()
engine = OpenAICompatible(sys.argv[1], model=sys.argv[2], format=chat)
found = evaluate(engine=engine, format=chat, env=tool_chat([calculator]), rollout=linear(max_turns=3),
                 tasks=arithmetic.tasks(count=20, seed=0), reward=exact_match(),
                 sampling=Sampling(max_tokens=256))  # fmt: skip
print(f"correct {found.metrics['pass@1'].value:.2f}  calls {found.metrics['calls'].value:.2f}")
engine.close()
