"""Step: adds an incorrect rollout of similar length to a task's correct rollout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Sampling, Trajectory
from handaxe.synthesis.ask_values import AskedValue, ask_values, desk_settings
from handaxe.synthesis.corruptions import CORRUPTIONS, Corruptor, WrongRollout
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.draft_groups import LabelledRollout, group_draft, rollout_text
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_text
from handaxe.worlds.world import World

__all__ = ["corrupt"]

READ = json_object({"text": str})


def corrupt(
    world: World,
    env: EnvFactory,
    *,
    desk: AskDesk | None = None,
    kinds: Sequence[str] = tuple(CORRUPTIONS),
    tries: int = 3,
    length: float = 0.2,
    max_tokens: int = 256,
) -> SynthesisStep:
    """Make the step "corrupt": a task -> a group of the expert's rollout and an incorrect rollout with one change.

        rule    one digit, argument, tool, order or ending changes; the environment replies to the changed turns, and
                the expert goes on from there
        model   rewrites the last turn so that it is wrong
        kept    <=>  the world's rule calls the rollout incorrect, and |n_wrong - n_right| <= length n_right
        n       characters of a rollout, with the replies

    The kinds are tried in an order drawn for each draft, each up to `tries` times.

    Args:
        world: has an expert; its rule is the oracle.
        env: of the tasks.
        desk: asks the model; None for the rule.
        kinds: of `synthesis.corruptions`.
        tries: draws of a kind, 1 or more.
        length: greatest share of the length that may change, 0 or more.
        max_tokens: of a model's answer.

    Returns:
        A step that reads drafts of kind "task" and makes drafts of kind "group", with the note "corrupted".

    Raises:
        InputError: an unknown kind or none, a number out of range, or a world without an expert; while running, see
            `ask_values`.

    Example:
        expert: calculator 12*34, 408, "408";  kind digit: "403"; kind argument: calculator 12*35, 420, "420"

    Paper: arXiv:2508.05613 (Cooper), correct solutions that a model rewrites with a wrong answer.
    Unconfirmed: the wording of the prompt, and the bound of the length.
    Differs: the rule, which changes calls too, and whose changes tools reply to.
    """
    corruptor = Corruptor(world, env, tuple(kinds), tries, length)

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        shown = at.map(corruptor.right, drafts)
        played = [(draft, one) for draft, one in zip(drafts, shown, strict=True) if one is not None]
        if desk is None:
            made = at.map(lambda pair: _outcome(*pair, corruptor.by_rule(pair[1], at.seed)), played)
        else:
            asked = ask_values(desk, [_question(desk, *pair, max_tokens) for pair in played], READ)
            made = [_asked_outcome(corruptor, *pair, own) for pair, own in zip(played, asked, strict=True)]
        found = iter(made)
        return [dropped("the expert fails") if one is None else next(found) for one in shown]

    prompt = "" if desk is None else _prompt_name(desk)
    settings = {**desk_settings(desk, prompt), "kinds": [*kinds], "tries": tries, "length": length}
    return SynthesisStep("corrupt", run, settings={**settings, "world": world.name})


def _outcome(draft: SynthesisDraft, right: Trajectory, wrong: WrongRollout) -> DraftOutcome:
    if wrong.trajectory is None:
        return dropped(wrong.by)
    pair = [
        LabelledRollout(rollout_text(right), 1.0, "expert"),
        LabelledRollout(rollout_text(wrong.trajectory), 0.0, wrong.by),
    ]
    return kept(group_draft(draft.noted({"corrupted": wrong.by}), pair))


def _asked_outcome(
    corruptor: Corruptor, draft: SynthesisDraft, right: Trajectory, own: AskedValue[dict[str, Any]]
) -> DraftOutcome:
    if isinstance(own.value, NoAnswer):
        return dropped(f"no answer: {own.value.reason}")._replace(asked=own.asked)
    return _outcome(draft, right, corruptor.by_text(right, own.value["text"]))._replace(asked=own.asked)


def _prompt_name(desk: AskDesk) -> str:
    prompt = find_prompt("corrupt", terse=desk.answerer.terse)
    return f"{prompt.name} {prompt.digest[:12]}"


def _question(desk: AskDesk, draft: SynthesisDraft, right: Trajectory, max_tokens: int) -> Ask:
    prompt = find_prompt("corrupt", terse=desk.answerer.terse)
    fields = {"question": draft_text(draft), "conversation": rollout_text(right), "text": right.final_text}
    sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
    return Ask(prompt, fields, role="corruptor", about=(draft.id, -1, ""), sampling=sampling)
