import handaxe as hx
from handaxe import credit, curricula, losses, rewards, rollouts, tools, worlds

world = worlds.arithmetic()
model, chat = hx.load("tiny")
loss = losses.policy(
    ratio=losses.ratios.token(), surrogate=losses.surrogates.clip(), reduction=losses.reductions.token_mean()
)
result = hx.train(
    engine=hx.LocalEngine(model),
    format=chat,
    env=world.env([tools.calculator]),
    tasks=curricula.in_order(world.tasks("train", 1000, 0)),
    rollout=rollouts.linear(max_turns=3),
    reward=rewards.exact_match(),
    credit=credit.group_norm(),
    loss=loss,
    learning_rate=3e-4,
    steps=15,
)
for row in result.metrics[::7]:
    print(f"step {row['step'] + 1:2.0f}  reward {row['reward']:.2f}  calls {row['calls']:.2f}")
