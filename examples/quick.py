from handaxe.credit.group_norm import group_norm
from handaxe.engines.local import LocalEngine
from handaxe.envs import arithmetic
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.load import load
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.linear import linear
from handaxe.selection.in_order import in_order
from handaxe.tools.calculator import calculator
from handaxe.training.loop import train

model, chat = load("tiny")
tasks = arithmetic.tasks(count=1000, seed=0)
result = train(engine=LocalEngine(model), format=chat, env=tool_chat([calculator]), tasks=in_order(tasks), steps=20,
               rollout=linear(max_turns=3), reward=exact_match(), credit=group_norm(), progress=False,
               loss=policy(ratio=token(), surrogate=clip(), reduction=token_mean()))  # fmt: skip
for row in result.metrics[::5] + result.metrics[-1:]:
    print(f"step {row['step'] + 1:2.0f}  reward {row['reward']:.2f}  calls {row['calls']:.2f}")
