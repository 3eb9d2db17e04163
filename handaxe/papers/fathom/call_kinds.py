"""Kinds of the calls of a rollout: unique or redundant searches; pages that explore, verify or repeat."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable, choice
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import ToolCall, Trajectory
from handaxe.ops.tool_calls import call_key

__all__ = ["CallKinds", "Kind", "LabelledCall", "asked_kinds", "call_kinds", "likeliest", "rule_kinds"]

Kind = Literal["unique", "exploration", "verification", "redundant"]
CallKinds = Callable[[Trajectory], list[Kind]]
"""Kind of each well-formed call of a rollout, in order."""
Claim = Callable[[ToolCall], str | None]
"""What a page visit is about; None for a call that is no page visit, which is a search."""


class LabelledCall(NamedTuple):
    """A call, its result as text ("" without one), whether it visits a page, and whether it succeeded."""

    call: ToolCall
    result: str
    page: bool
    ok: bool


def call_kinds(desk: AskDesk | None, *, claim: Claim, verifications: int) -> CallKinds:
    """Labels of a judge: the rule without a desk, else the language model of the desk, which the rule never replaces.

    Args:
        desk: asks the model; None for the rule.
        claim: see `rule_kinds`.
        verifications: budget, see `rule_kinds`.

    Returns:
        Rollout -> kind of each call.

    Raises:
        InputError: verifications below 0. VerifierError: while labelling, a question without an answer.

    Example:
        call_kinds(None, claim=claim, verifications=1) labels by rule

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), labels of the calls of Fathom-Search-4B by a language model.
    Unconfirmed: the definition of each label beyond its name.
    Differs: the rule is the default.
    """
    by_rule = rule_kinds(claim=claim, verifications=verifications)
    return by_rule if desk is None else asked_kinds(desk=desk, claim=claim, verifications=verifications)


def rule_kinds(*, claim: Claim, verifications: int = 1) -> CallKinds:
    """Label calls by what they return.

        search   unique if its result has a line that no earlier search had, else redundant
        page     redundant if it failed, or if its arguments or its result are those of an earlier visit; else
                 exploration for the first page about its claim, and verification for the next `verifications` pages
                 about it; redundant beyond this budget

    So a search in other words with the results of an earlier one is redundant, and so are a call that fails and a page
    that is opened again under another spelling of its id.

    Args:
        claim: call -> claim of a page visit, such as the fact that the page states; None for a search.
        verifications: B_v, pages about a claim beyond the first one that are not redundant, >= 0.

    Raises:
        InputError: verifications below 0.

    Example:
        search a -> pages 1, 2; search b -> pages 1, 2; open 1, open 2 (both about x), open 1
        ->  unique, redundant, exploration, verification, redundant

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), labels of calls by a judge and the verification budget B_v.
    Unconfirmed: the definition of each label beyond its name.
    Differs: a rule compares results; the paper asks a language model, see `asked_kinds`.
    """
    if verifications < 0:
        raise InputError(f"verifications is {verifications}; give 0 or more")

    def label(trajectory: Trajectory) -> list[Kind]:
        seen, visited = set[str](), set[str]()
        looks = dict[str, int]()
        found = list[Kind]()
        for one in _calls(trajectory, claim):
            if not one.page:
                lines = {line.strip() for line in one.result.splitlines() if line.strip() and one.ok}
                found.append("unique" if lines - seen else "redundant")
                seen |= lines
                continue
            about, key = claim(one.call) or "", call_key(one.call)
            repeated = not one.ok or bool({key, one.result} & visited) or looks.get(about, 0) > verifications
            found.append("redundant" if repeated else "verification" if looks.get(about) else "exploration")
            if not repeated:
                visited |= {key, one.result}
                looks[about] = looks.get(about, 0) + 1
        return found

    return label


def asked_kinds(*, desk: AskDesk, claim: Claim, verifications: int = 1) -> CallKinds:
    """Ask a language model for the label of each call, all calls of a rollout at once.

    A question shows the task, earlier calls with their results, and the call with its result. Verifications beyond the
    budget of their claim are redundant.

    Args:
        desk: asks the model.
        claim: distinguishes page visits from searches, and counts the budget.
        verifications: B_v, >= 0.

    Raises:
        VerifierError: while labelling, a question without an answer: the rollout is not scored.

    Example:
        P(unique) 0.1 and P(redundant) 0.2 for a search  ->  redundant

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), a language model labels the calls of Fathom-Search-4B.
    Unconfirmed: the wording of the prompts.
    Differs: nothing known.
    """

    def label(trajectory: Trajectory) -> list[Kind]:
        calls = _calls(trajectory, claim)
        asks = [_question(desk, trajectory, calls, k) for k in range(len(calls))]
        answers = desk.ask(asks, likeliest) if asks else []
        found, looks = list[Kind](), dict[str, int]()
        for number, (one, kind) in enumerate(zip(calls, answers, strict=True)):
            if isinstance(kind, NoAnswer):
                raise VerifierError(
                    f"the judge gave no label of call {number + 1}: {kind.reason} {kind.text[:200]!r}",
                    trajectory=trajectory.id,
                )
            about = claim(one.call) or ""
            looks[about] = looks.get(about, 0) + (kind == "verification")
            found.append("redundant" if kind == "verification" and looks[about] > verifications else kind)
        return found

    return label


def likeliest(answer: AskAnswer) -> Kind:
    """Read the most likely label, or the only label among the words of a text.

    Example:
        log-likelihoods unique -2, redundant -1  ->  redundant
    """
    kinds: tuple[Kind, ...] = ("unique", "exploration", "verification", "redundant")
    if not answer.label_logp:
        text = choice(kinds)(answer)
        return next(kind for kind in kinds if kind == text)
    known = [kind for kind in kinds if answer.label_logp.get(kind, float("nan")) > float("-inf")]
    if not known:
        raise Unreadable(f"no label has a likelihood: {dict(answer.label_logp)}")
    return max(known, key=lambda kind: answer.label_logp[kind])


def _calls(trajectory: Trajectory, claim: Claim) -> list[LabelledCall]:
    found = list[LabelledCall]()
    for turn in trajectory.turns:
        replies = {reply.call_id: reply for reply in turn.replies}
        for call in turn.parsed.calls:
            reply = replies.get(call.id)
            ok = reply is not None and reply.status == "ok"
            found.append(LabelledCall(call, "" if reply is None else reply.content, claim(call) is not None, ok))
    return found


def _question(desk: AskDesk, trajectory: Trajectory, calls: Sequence[LabelledCall], k: int) -> Ask:
    name = "fathom/page" if calls[k].page else "fathom/search"
    fields = {
        "task": trajectory.task.messages[-1].content,
        "earlier": "\n".join(f"{_shown(one.call)}\n{one.result}" for one in calls[:k]),
        "call": _shown(calls[k].call),
        "result": calls[k].result,
    }
    return Ask(find_prompt(name, terse=desk.answerer.terse), fields, about=(trajectory.id, k, ""))


def _shown(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}"
