"""Trajectories of a multi-agent system as conversations of one policy, with the agents as tagged segments."""

from __future__ import annotations

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Source, StageContext
from handaxe.core.records import Message, RatedGroup, Trajectory
from handaxe.ops.turn_positions import initial_messages
from handaxe.papers.chain_of_agents.repeated_segments import count_repeats
from handaxe.rollouts.in_roles import role_turns
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.sft.supervised import as_rated

__all__ = ["flatten_roles", "flattened_roles"]


def flatten_roles(trajectory: Trajectory, format: ChatFormat) -> Trajectory:
    """Write the turns of all roles into one conversation.

        text of role r without a call   -> the segment <r>text</r>, in the next turn of the conversation
        call of a role                  -> a turn of the segments so far and the call; then the reply of the tool
        last text                       -> the last turn; a text with tags of its own, such as an answer, as it is

    The replies of tools are not trained, as in a rollout.

    Args:
        trajectory: of `rollouts.in_roles`, ended by a text.
        format: chat format of the conversation.

    Returns:
        A trajectory with one sequence for supervised fine-tuning, with the task of `trajectory`.

    Example:
        planner "8038 ally"; worker search "8038 ally" -> result; checker "<answer>2973</answer>"
        -> "<planner>8038 ally</planner>" + search "8038 ally"; result; "<answer>2973</answer>"

    Paper: arXiv:2508.13167 (Chain-of-Agents), multi-agent distillation into one trajectory.
    Differs: tags are the names of the roles.
    """
    messages = initial_messages(trajectory.messages, turns=len(trajectory.turns))
    segments = ""
    for turn, played in zip(role_turns(trajectory), trajectory.turns, strict=True):
        if turn.calls:
            messages.append(Message("assistant", segments, turn.calls))
            messages += [
                Message("tool", one.content, call_id=one.call_id, name=one.name, images=one.images)
                for one in played.replies
            ]
            segments = ""
        else:
            segments += turn.text if turn.text.startswith("<") else f"<{turn.role}>{turn.text}</{turn.role}>"
    messages.append(Message("assistant", segments))
    return trajectory_from_messages(
        format, messages, trajectory.tools, task=trajectory.task, id=f"{trajectory.id}/flat"
    )


def flattened_roles(
    *, source: Source, reflective: Callable[[Trajectory], bool], least_turns: int = 6, plain: float = 1.0
) -> Source:
    """Make lessons of the rollouts of a multi-agent system that pass the filters, flattened.

        1. correct: outcome above 0.5
        2. not too easy: least_turns turns of agents or more
        3. of quality: no call was made twice with the same arguments, no malformed call
        4. reflective rollouts are all kept; of the others the first `plain` share

    Args:
        source: groups of rollouts of `rollouts.in_roles`, with correctness as outcome.
        reflective: whether an agent of a rollout corrected another one.
        least_turns: turns of all roles of a rollout.
        plain: share of the rollouts without reflection, 0 to 1.

    Returns:
        A source: each lesson is a group, with advantage 1 at every token that the policy is to write. Lessons beyond
        the engine's context are left out.

    Raises:
        InputError: a share out of range.

    Example:
        of 8 rollouts 5 are correct, 4 long enough, 4 of quality, 1 reflective; plain 0.5 -> 1 + 1 lessons

    Paper: arXiv:2508.13167 (Chain-of-Agents), progressive filtering. Unconfirmed: the thresholds, and the share of
    reflective ones.
    Differs: rules judge quality; the paper asks a language model.
    """

    if not 0 <= plain <= 1:
        raise InputError(f"plain is {plain}; give a share of 0 to 1")

    def made(site: StageContext) -> list[RatedGroup]:
        passed = [
            one
            for rated in source(site)
            for one, outcome in zip(rated.group, rated.scores.outcome, strict=True)
            if outcome > 0.5 and len(one.turns) >= least_turns and _has_quality(one)
        ]
        corrected = [one for one in passed if reflective(one)]
        others = [one for one in passed if not reflective(one)]
        lessons = [flatten_roles(one, site.format) for one in (*corrected, *others[: round(plain * len(others))])]
        return [as_rated([one]) for one in lessons if len(one.sequences[0]) <= site.engine.max_length]

    return made


def _has_quality(trajectory: Trajectory) -> bool:
    return not count_repeats(trajectory) and not any(turn.parsed.errors for turn in trajectory.turns)
