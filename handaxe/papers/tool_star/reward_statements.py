"""Questions to the policy about rewards of rollouts, and groups of statements with the true statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.asking.prompt import find_prompt
from handaxe.core.protocols import ChatFormat, Source, StageContext
from handaxe.core.records import Advantages, Group, Message, RatedGroup, Scores, Task, Trajectory
from handaxe.curricula.in_order import in_order
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.ragged import group_rewards
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.linear import linear
from handaxe.training.stages.sources import play_at
from handaxe.worlds.parts.demonstrate import demonstrate

__all__ = [
    "LEVELS",
    "asked_about",
    "nearest_level",
    "reward_statements",
    "statement_tasks",
    "statements_right",
    "true_statement",
]

LEVELS = ("-1.0", "0.0", "1.0", "1.1")
"""Rewards of a broken format, a wrong answer, a correct one, and a correct one with both tools."""
SHORT = 1024
"""Policies with a shorter context read the terse prompt."""
PLAIN = tool_chat(())


def nearest_level(reward: float) -> str:
    """The level of a reward.

    Example:
        1.1 -> "1.1", 0.4 -> "0.0", 0.6667 -> "1.0"

    Paper: arXiv:2505.16410 (Tool-Star), the levels of its hierarchical reward.
    Differs: an answer of partial F1 counts as the nearest level.
    """
    return min(LEVELS, key=lambda level: (abs(float(level) - reward), level))


def statement_tasks(groups: Sequence[RatedGroup], *, terse: bool, most: int = 2) -> list[Task]:
    """Make the questions about rollouts of groups: at most `most` a group, with different rewards.

    Args:
        groups: scored rollouts.
        terse: use the short prompt.
        most: rollouts of a group, the best and the worst first.

    Returns:
        Tasks without tools whose answer is the level of the rollout's reward. A response is quoted as JSON: calls with
        arguments, replies, and the last text.

    Example:
        rewards 1.1, 0, 0 of one group  ->  the questions about rollouts 0 and 1, with the answers "1.1" and "0.0"

    Paper: arXiv:2505.16410 (Tool-Star), self-critic samples that ask for the reward.
    Unconfirmed: the wording, from memory.
    Differs: nothing that is known.
    """
    prompt = find_prompt("tool_star/reward", terse=terse)
    made = list[Task]()
    for rated in groups:
        reward_G = group_rewards(rated.group, rated.scores)
        known = [i for i in range(len(rated.group)) if np.isfinite(reward_G[i])]
        first = dict[str, int]()
        for i in known:
            first.setdefault(nearest_level(float(reward_G[i])), i)
        order = sorted(first, key=float)
        for level in [*order[-1:], *order[:1], *order[1:-1]][: min(most, len(order))]:
            one = rated.group[first[level]]
            fields = {
                "levels": ", ".join(LEVELS),
                "question": rated.group.task.messages[-1].content,
                "response": _shown(one),
            }
            made.append(Task(f"{one.id}/reward", prompt.render(fields), level, (), {"level": level}))
    return list({one.id: one for one in made}.values())


def reward_statements(
    *, played: Source, group_size: int = 8, most: int = 2, right: list[float] | None = None
) -> Source:
    """Make a source of groups about rewards: statements of the policy, and the true statement.

        reward of a statement = 1 if it is the level of the rollout, else 0
        group = [the policy's statements ..., the true one]

    Args:
        played: source of scored rollouts.
        group_size: statements of the policy about a rollout, >= 1.
        most: rollouts of a group, see `statement_tasks`.
        right: the share of right statements of the policy is appended.

    Returns:
        A source for `prefer` with `best_against_worst`: a group of right statements alone makes no pair.

    Example:
        level "0.0", statements "1.0" and "0.0"  ->  rewards 0, 1 and 1 for the true one

    Paper: arXiv:2505.16410 (Tool-Star), self-critic DPO on pairs whose responses state the reward.
    Unconfirmed: the form of the pairs, from memory.
    Differs: the chosen response is the policy's own right statement, or the true one as text.
    """

    def source(site: StageContext) -> list[RatedGroup]:
        tasks = asked_about(site, played, most=most)
        if not tasks:
            return []
        found = _statements(site, tasks, group_size, folder="statements")
        if right is not None:
            right.append(statements_right(found))
        return [_with_truth(one, site.format) for one in found]

    return source


def asked_about(site: StageContext, played: Source, *, most: int = 2) -> list[Task]:
    """Play rollouts in the folder "judged", and make the questions about them for the policy of a stage.

    Example:
        asked_about(site, played(groups=16, group_size=8))  ->  at most 32 tasks

    Idea: the prompt depends on the context of the policy.
    """
    out = None if site.out is None else site.out / "judged"
    return statement_tasks(played(site._replace(out=out)), terse=site.engine.max_length < SHORT, most=most)


def statements_right(groups: Sequence[RatedGroup]) -> float:
    """Share of right statements; NaN without one.

    Example:
        rewards (1, 0) and (0, 0) of two groups  ->  0.25

    Idea: accuracy of the policy as judge of its own rollouts.
    """
    value = np.concatenate([np.zeros(0), *(np.asarray(one.scores.outcome, np.float64) for one in groups)])
    value = value[np.isfinite(value)]
    return float(value.mean()) if len(value) else float("nan")


def _statements(site: StageContext, tasks: Sequence[Task], group_size: int, *, folder: str) -> list[RatedGroup]:
    arguments = {
        "steps": 1,
        "groups": len(tasks),
        "group_size": group_size,
        "tasks": in_order(tasks, shuffle=False),
        "env": PLAIN,
        "rollout": linear(max_turns=1),
        "reward": exact_match(normalise=str.strip),
    }
    return play_at(site, arguments, folder=folder)


def true_statement(task: Task, format: ChatFormat) -> Trajectory:
    """The true statement of a question of `statement_tasks`, as a rollout of the policy.

    Example:
        the answer "0.0"  ->  one turn with the text "0.0"

    Paper: arXiv:2505.16410 (Tool-Star), responses that state the reward.
    Unconfirmed: the form, from memory.
    Differs: nothing else that is known.
    """
    return demonstrate(
        PLAIN,
        task,
        lambda task, facts: Message("assistant", str(task.answer)),
        format=format,
        id=f"{task.id}/true",
        rollout=linear(max_turns=1),
    )


def _with_truth(one: RatedGroup, format: ChatFormat) -> RatedGroup:
    task = one.group.task
    true = true_statement(task, format)
    group = Group(task, (*one.group, replace(true, sample=len(one.group))), one.group.step)
    tokens = (*one.advantages.tokens, tuple(np.zeros(len(sequence.mask)) for sequence in true.sequences))
    return RatedGroup.of(group, Scores(np.append(one.scores.outcome, 1.0)), Advantages(tokens))


def _shown(one: Trajectory) -> str:
    """Calls with arguments, replies, and the last text of a rollout."""
    parts = list[str]()
    for message in one.messages[len(one.task.messages) :]:
        parts += [f"{call.name} {' '.join(map(str, call.arguments.values()))}" for call in message.calls]
        parts += [message.content] if message.content else []
    return "; ".join(parts)
