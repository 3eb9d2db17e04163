"""Pipeline of roles: Analyzer, Planner, Calculator and Coder, each a rule or a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Reader, Unreadable
from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.methods.study_source import study_answer, study_desk
from handaxe.papers.robotool.rule_roles import analyze, calculate, plan_steps, write_code
from handaxe.papers.robotool.skill_program import SkillOutcome, program_calls, run_skills
from handaxe.papers.robotool.tool_tasks import ToolTask
from handaxe.training.stages.parts.asked_author import read_code

__all__ = ["ARMS", "BenchRole", "PipelineRun", "make_roles", "read_lines", "run_pipeline"]

BenchRole = Callable[..., str | None]
"""(task=, concepts=, plan=) -> text; None for a question without an answer."""
RULES: Mapping[str, BenchRole] = {
    "analyzer": analyze,
    "planner": plan_steps,
    "calculator": calculate,
    "coder": write_code,
}
FIELDS: Mapping[str, tuple[str, ...]] = {
    "analyzer": ("task",),
    "planner": ("task", "concepts"),
    "calculator": ("task", "concepts", "plan"),
    "coder": ("task", "plan"),
}
ARMS: Mapping[str, tuple[str, ...]] = {
    "full": ("analyzer", "planner", "calculator", "coder"),
    "no_analyzer": ("planner", "calculator", "coder"),
    "no_calculator": ("analyzer", "planner", "coder"),
    "planner_coder": ("planner", "coder"),
    "coder": ("coder",),
}
"""Ablation -> its roles, in order."""
OUTPUT: Mapping[str, str] = {"analyzer": "concepts", "planner": "plan", "calculator": "plan", "coder": "code"}
SAMPLING = Sampling(temperature=0.0, max_tokens=400)


class PipelineRun(NamedTuple):
    """Texts of the roles, and the outcome; `unanswered` names the role without an answer, and there is no outcome."""

    texts: Mapping[str, str]
    outcome: SkillOutcome | None
    unanswered: str = ""


def read_lines(answer: AskAnswer) -> str:
    """Read the lines of a text, without empty ones and without the marks of a list.

    Example:
        "1. grasp hammer\\n\\n- pull milk ?" -> "grasp hammer\\npull milk ?"

    Idea: models write lists with marks.
    """
    lines = [line.strip().lstrip("-*0123456789.) ").strip("` ") for line in answer.text.splitlines()]
    kept = [line for line in lines if line]
    if not kept:
        raise Unreadable("the answer has no line")
    return "\n".join(kept)


def _read_program(answer: AskAnswer) -> str:
    code = read_code(answer.text)
    if not code.strip():
        raise Unreadable("the answer has no code")
    return code


def make_roles(sources: Mapping[str, str]) -> dict[str, BenchRole]:
    """Make the roles of their sources. Equal sources share a model.

    Args:
        sources: role -> rule, a model, http://HOST/v1#NAME, or MODULE:ATTRIBUTE of your own answerer.

    Raises:
        InputError: no such source, or one that needs the policy of a run; while asking, a model that is away.

    Example:
        make_roles({"coder": "rule"})["coder"] is rule_roles.write_code

    Paper: arXiv:2310.13065 (RoboTool), a prompt for each role.
    Unconfirmed: the wording of the prompts.
    Differs: a question has no examples of solved tasks.
    """
    desks: dict[str, AskDesk | None] = {}
    roles: dict[str, BenchRole] = {}
    for name, source in sources.items():
        if source not in desks:
            desks[source] = study_desk(source, option=f"--{name}")
        desk = desks[source]
        roles[name] = RULES[name] if desk is None else _asked(name, desk)
    return roles


def _asked(name: str, desk: AskDesk) -> BenchRole:
    read: Reader[str] = _read_program if name == "coder" else read_lines

    def role(task: str, concepts: str = "", plan: str = "") -> str | None:
        given = {"task": task, "concepts": concepts, "plan": plan}
        fields = {field: given[field] for field in FIELDS[name]}
        prompt = find_prompt(f"robotool/{name}", terse=desk.answerer.terse)
        (found,) = desk.ask([Ask(prompt, fields, role=name, sampling=SAMPLING)], read)
        return study_answer(found, role=name)

    return role


def run_pipeline(task: ToolTask, roles: Mapping[str, BenchRole], *, arm: str = "full") -> PipelineRun:
    """Let the roles of an arm answer in order, and execute the code.

    Args:
        task: whose text every role reads; a role also reads the key concepts and the plan, as far as its arm has them.
        roles: see `make_roles`.
        arm: a key of ARMS.

    Returns:
        The run. Code that fails in the sandbox has the error "code". A role without an answer, or a rule that cannot
        read the text of a model, ends the run without an outcome; the rule never takes a model's place.

    Raises:
        InputError: an unknown arm, or a model that is away.

    Example:
        arm "coder" on a milk that is out of reach: "grasp('milk')", logical error

    Paper: arXiv:2310.13065 (RoboTool), Analyzer, Planner, Calculator and Coder, and their ablations.
    Differs: rules play the roles by default.
    """
    if arm not in ARMS:
        raise InputError(f"{arm!r} is no arm: {', '.join(ARMS)}")
    texts = {"task": task.text}
    for name in ARMS[arm]:
        try:
            found = roles[name](**texts)
        except Unreadable:  # a rule that cannot read the text of a model
            found = None
        if found is None:
            return PipelineRun(texts, None, name)
        texts[OUTPUT[name]] = found
    calls, error = program_calls(texts["code"], task)
    return PipelineRun(texts, SkillOutcome("code", error) if error else run_skills(calls, task))
