"""Writer of scenarios, tool documents and code: a language model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.records import Sampling
from handaxe.papers.ftrl.environment_writer import SeededId, ToolCalls, Written
from handaxe.papers.ftrl.local_tools import LocalTool
from handaxe.papers.ftrl.sub_steps import Scenario, read_scenario
from handaxe.papers.ftrl.toolchains import SCENARIOS
from handaxe.synthesis.ask_values import ask_values
from handaxe.tools.definition import NAME

__all__ = ["AskedWriter", "describe_kind"]

SCENARIO = json_object({"question": str, "answer": str, "steps": list})
DOCUMENT = json_object({"name": str, "description": str, "parameters": dict, "arguments": dict})
CODE = json_object({"code": str})


class AskedWriter:
    """Asks a language model for each part, one question a scenario, a sub-question and a tool.

    An answer of another form drops the draft, and the rule never writes in place of the model. Code runs in the sandbox
    alone.

    Args:
        desk: asks the model.
        temperature: of scenarios, so that seeds differ.
        max_tokens: of an answer.

    Raises:
        InputError: while asking, the server is away or the budget is spent.

    Example:
        document {"name": "boss_of", "description": "...", "parameters": {"person": "..."}, "arguments": {"person":
        "4071"}} of the sub-question "4071 boss"

    Paper: arXiv:2508.08791 (FTRL), scenarios, documents and functions by a language model.
    Unconfirmed: the wordings of the prompts.
    Differs: parameters are texts.
    """

    def __init__(self, desk: AskDesk, *, temperature: float = 0.7, max_tokens: int = 512):
        self.desk = desk
        self._warm = Sampling(temperature=temperature, max_tokens=max_tokens)
        self._cold = Sampling(temperature=0.0, max_tokens=max_tokens)
        names = ("decompose", "document", "deploy")
        self._prompts = {name: find_prompt(f"ftrl/{name}", terse=desk.answerer.terse) for name in names}

    @property
    def settings(self) -> Mapping[str, Any]:
        shown = {name: f"{one.name} {one.digest[:12]}" for name, one in self._prompts.items()}
        return {"by": self.desk.answerer.fingerprint(), "prompts": shown, "sampling": repr(self._warm)}

    def scenarios(self, seeds: Sequence[SeededId]) -> list[Written]:
        asks = [
            self._ask("decompose", {"kind": describe_kind(one.kind)}, (one.id, -1, ""), sample=one.seed % 2**31)
            for one in seeds
        ]
        out = list[Written]()
        for one, it in zip(seeds, ask_values(self.desk, asks, SCENARIO), strict=True):
            found = None if isinstance(it.value, NoAnswer) else read_scenario(one.kind, it.value)
            out.append(Written(found, _why(it.value, found), it.asked))
        return out

    def documents(self, scenarios: Sequence[tuple[str, Scenario]]) -> list[Written]:
        places = [(id, k, step) for id, one in scenarios for k, step in enumerate(one.steps)]
        asks = [
            self._ask("document", {"question": step.question, "answer": step.answer}, (id, k, ""))
            for id, k, step in places
        ]
        found = ask_values(self.desk, asks, DOCUMENT)
        out = list[Written]()
        for id, _ in scenarios:
            own = [it for (other, _, _), it in zip(places, found, strict=True) if other == id]
            values = [it.value for it in own]
            asked = tuple(row for it in own for row in it.asked)
            missing = next((value for value in values if isinstance(value, NoAnswer)), None)
            made = None if missing is not None else _documented(values)
            reason = f"no answer: {missing.reason}" if missing is not None else "" if made else "another form"
            out.append(Written(made, reason, asked))
        return out

    def codes(self, tools: Sequence[tuple[str, Scenario, Sequence[ToolCalls]]], seed: int) -> list[Written]:
        del seed
        places = [(id, k, scenario, one) for id, scenario, made in tools for k, one in enumerate(made)]
        asks = [self._ask("deploy", _code_fields(scenario, one), (id, k, "")) for id, k, scenario, one in places]
        found = ask_values(self.desk, asks, CODE)
        out = list[Written]()
        for id, _, made in tools:
            own = [it for (other, _, _, _), it in zip(places, found, strict=True) if other == id]
            asked = tuple(row for it in own for row in it.asked)
            missing = next((it.value for it in own if isinstance(it.value, NoAnswer)), None)
            if missing is not None:
                out.append(Written(None, f"no answer: {missing.reason}", asked))
                continue
            coded = [
                one._replace(tool=one.tool._replace(code=it.value["code"]))  # type: ignore[call-overload]
                for one, it in zip(made, own, strict=True)
            ]
            out.append(Written(coded, "", asked))
        return out

    def _ask(
        self, name: str, fields: Mapping[str, str], about: tuple[str, int, str], *, sample: int | None = None
    ) -> Ask:
        sampling = self._cold if sample is None else self._warm
        return Ask(self._prompts[name], fields, role=name, about=about, sampling=sampling, sample=sample or 0)


def describe_kind(kind: str) -> str:
    """Words for a kind of scenario.

    Example:
        "parallel chain" -> "2 independent parts, each answered in 2 steps that need the answer of the step before"

    Idea: a prompt needs the structure, and no name for it.
    """
    width, depth = SCENARIOS[kind]
    parts = "one part" if width == 1 else f"{width} independent parts"
    steps = "in one step" if depth == 1 else f"in {depth} steps that need the answer of the step before"
    return f"{parts}, {'each ' if width > 1 else ''}answered {steps}"


def _documented(values: Sequence[Any]) -> list[ToolCalls] | None:
    """Tools of a model's documents; equal documents of two sub-questions are one tool."""
    found = dict[str, ToolCalls]()
    for k, one in enumerate(values):
        texts = [*one["parameters"].items(), *one["arguments"].items()]
        name = one["name"]
        good = NAME.fullmatch(name) and name.isidentifier() and all(key.isidentifier() for key, _ in texts)
        if not good or not all(isinstance(value, str) for _, value in texts):
            return None
        tool = LocalTool(name, one["description"], one["parameters"], "", name)
        if set(one["arguments"]) != set(tool.parameters) or (name in found and found[name].tool != tool):
            return None
        earlier = found[name].calls if name in found else {}
        found[name] = ToolCalls(tool, {**earlier, k: one["arguments"]})
    return list(found.values())


def _code_fields(scenario: Scenario, one: ToolCalls) -> dict[str, str]:
    document = {"name": one.tool.name, "description": one.tool.description, "parameters": dict(one.tool.parameters)}
    calls = [{"arguments": dict(given), "result": scenario.steps[k].answer} for k, given in one.calls.items()]
    return {"document": json.dumps(document), "calls": json.dumps(calls)}


def _why(value: Any, found: Scenario | None) -> str:
    if isinstance(value, NoAnswer):
        return f"no answer: {value.reason}"
    return "" if found is not None else "another form"
