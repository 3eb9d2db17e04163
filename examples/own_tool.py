"""Teach a policy an unknown tool by demonstrations, train it by reinforcement, and ask it. A minute on two cores."""

import random
from typing import Literal

import handaxe as hx
from handaxe import credit, curricula, envs, losses, rewards, rollouts
from handaxe.core.records import ToolCall
from handaxe.training import stages
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import scripted
from handaxe.worlds.parts.demonstrate import demonstrate

METRES = {"m": 1.0, "km": 1000.0, "cm": 0.01, "mm": 0.001, "mi": 1609.344, "yd": 0.9144, "ft": 0.3048, "in": 0.0254}
Unit = Literal["m", "km", "cm", "mm", "mi", "yd", "ft", "in"]


@hx.tool
def convert(value: float, unit_from: Unit, unit_to: Unit) -> str:
    """Convert a length from one unit to another."""
    return f"{value * METRES[unit_from] / METRES[unit_to]:.4g}"


def task(number: int) -> hx.Task:
    """Question number n, with its answer and its parts."""
    draw = random.Random(number)
    value, (old, new) = draw.randint(1, 999), draw.sample(sorted(METRES), 2)
    asked = hx.Message("user", f"{value} {old} in {new}?")
    facts = {"value": value, "unit_from": old, "unit_to": new}
    return hx.Task(f"units-{number}", (asked,), value * METRES[old] / METRES[new], metadata=facts)


@rewards.outcome
def close(attempt: hx.Trajectory) -> float:
    """1 for a number that is right to one in a thousand, else 0."""
    try:
        return float(abs(float(attempt.final_text) / attempt.task.answer - 1) < 1e-3)
    except ValueError:
        return 0.0


def expert(task: hx.Task, facts: dict) -> hx.Message:
    """Call with the numbers of the question, then say what the tool replied."""
    if facts["turn"]:
        return hx.Message("assistant", facts["replies"][-1])
    return hx.Message("assistant", "", (ToolCall("convert", task.metadata),))


def main() -> None:
    model, chat = hx.load("tiny")
    engine = hx.LocalEngine(model)
    env = envs.tool_chat([convert])
    rollout = rollouts.linear(max_turns=3)
    held_out, tasks = [task(n) for n in range(200)], [task(n) for n in range(200, 2200)]
    sampling = hx.Sampling(max_tokens=64)

    def tell(when: str) -> None:
        found = hx.evaluate(
            engine=engine, env=env, format=chat, rollout=rollout, tasks=held_out, reward=close, sampling=sampling
        )
        right, calls = found.metrics["pass@1"], found.metrics["calls"]
        print(f"{when:>10}  right {right.value:.2f} [{right.low:.2f}, {right.high:.2f}]  calls {calls.value:.2f}")

    tell("at first")

    lessons = [demonstrate(env, one, expert, format=chat) for one in tasks[:300]]
    learn = stages.teach(source=scripted(trajectories=lessons), epochs=4, batch_size=16)
    learn(make_site(engine=engine, format=chat))
    tell("shown")

    loss = losses.policy(
        ratio=losses.ratios.token(), surrogate=losses.surrogates.clip(), reduction=losses.reductions.rollout_mean()
    )
    hx.train(
        engine=engine,
        format=chat,
        env=env,
        tasks=curricula.in_order(tasks),
        rollout=rollout,
        reward=close,
        credit=credit.group_norm(),
        loss=loss,
        sampling=sampling,
        learning_rate=3e-4,
        groups=24,
        steps=15,
    )
    tell("practised")

    answer = hx.use(engine, [convert], format=chat)("77 yd in in?")
    print("77 yd in in?", [call.arguments for call in answer.calls], answer)


if __name__ == "__main__":
    main()
