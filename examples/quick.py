from handaxe.credit.group_norm import group_norm
from handaxe.engines.local import LocalEngine
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
from handaxe.worlds import arithmetic

model, chat = load("tiny")
tasks = in_order(arithmetic.tasks(count=1000, seed=0))
result = train(engine=LocalEngine(model), format=chat, env=tool_chat([calculator]), tasks=tasks, reward=exact_match(),
               rollout=linear(max_turns=3), credit=group_norm(), learning_rate=3e-4, steps=15,
               loss=policy(ratio=token(), surrogate=clip(), reduction=token_mean()))  # fmt: skip
for row in result.metrics[::7]:
    print(f"step {row['step'] + 1:2.0f}  reward {row['reward']:.2f}  calls {row['calls']:.2f}")
