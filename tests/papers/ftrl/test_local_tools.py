"""Tools as code in the sandbox: lookup, merging, a further parameter, and hostile code."""

import random

import pytest

from handaxe.core.errors import ToolDefinitionError
from handaxe.core.records import ToolCall
from handaxe.papers.ftrl.local_tools import (
    LocalTool,
    deploy,
    gives,
    lookup_code,
    lookup_rows,
    merge_pair,
    with_width,
)
from handaxe.papers.ftrl.toolchains_tools import RELATIONS
from handaxe.worlds.hops.knowledge_base import build_facts

KNOWN = build_facts(seed=0, size=40, distractors=0, relations=RELATIONS, digits=True)


def lookup(name, **rows):
    text = {key.strip("_"): value for key, value in rows.items()}
    return LocalTool(name, f"Look up the {name}.", {"name": "of the person"}, lookup_code(name, text), name)


BOSS, HEIR = lookup("boss", _4071="5526"), lookup("heir", _9930="7108")


def reply(tool, **arguments):
    found = deploy(tool).run(ToolCall(tool.name, arguments))
    return found.status, found.content


def test_by_hand():
    assert reply(BOSS, name="4071") == ("ok", "5526")
    assert reply(BOSS, name="1") == ("retry", "KeyError: 'no boss of 1'")
    assert reply(BOSS)[0] == reply(BOSS, name=4071)[0] == reply(BOSS, name="4071", more="x")[0] == "invalid"


def test_merged_tools_give_the_answers_of_both():
    both = merge_pair(BOSS, HEIR)
    assert both.name == "boss_or_heir" and list(both.parameters) == ["kind", "name"]
    assert reply(both, kind="boss", name="4071") == ("ok", "5526")
    assert reply(both, kind="heir", name="9930") == ("ok", "7108")
    assert reply(both, kind="heir", name="4071")[0] == reply(both, kind="x", name="4071")[0] == "retry"
    assert merge_pair(both, BOSS) is None and merge_pair(BOSS, BOSS) is None
    assert merge_pair(BOSS, HEIR._replace(parameters={"person": ""})) is None


def test_tools_whose_merged_name_is_no_tool_name_are_not_merged():
    long = [one._replace(name=name * 31) for one, name in ((BOSS, "a"), (HEIR, "b"))]
    assert merge_pair(long[0], long[1]._replace(name="b" * 30)) is None
    assert len(merge_pair(long[0], long[1]._replace(name="b" * 29)).name) == 64


def test_a_further_parameter_is_optional():
    wide = with_width(merge_pair(BOSS, HEIR))
    assert reply(wide, kind="boss", name="4071") == ("ok", "5526")
    assert reply(wide, kind="boss", name="4071", width=6) == ("ok", "005526")
    schema = wide.schema.parameters
    assert schema["required"] == ["kind", "name"] and schema["properties"]["width"]["type"] == "integer"
    assert gives(wide, [{"kind": "heir", "name": "9930"}], ["7108"])


def test_gives_compares_every_answer():
    assert gives(BOSS, [{"name": "4071"}], ["5526"])
    assert not gives(BOSS, [{"name": "4071"}], ["5527"]) and not gives(BOSS, [{"name": "1"}], ["5526"])
    assert not gives(BOSS, [{"name": "4071"}, {"name": "1"}], ["5526", "5526"])


@pytest.mark.parametrize(
    "code",
    [
        "def boss(name):\n    return open('/etc/passwd').read()",
        "import os\ndef boss(name):\n    return os.getcwd()",
        "import subprocess\ndef boss(name):\n    return subprocess.getoutput('id')",
        "def boss(name)",
        "",
        "def heir(name):\n    return '5526'",
    ],
)
def test_hostile_and_broken_code_gives_nothing(code):
    assert not gives(BOSS._replace(code=code), [{"name": "4071"}], ["5526"])


def test_a_name_that_is_no_function_gives_nothing_and_no_tool():
    bad = BOSS._replace(name="a b", function="a b")
    assert not gives(bad, [{"name": "4071"}], ["5526"])
    with pytest.raises(ToolDefinitionError):
        deploy(bad)


def test_rows_have_the_names_and_some_others():
    names = [name for name, relation in KNOWN.facts if relation == "boss"][:2]
    rows = lookup_rows(KNOWN, "boss", names, random.Random(0))
    assert len(rows) == 6 and set(names) <= set(rows)
    assert all(KNOWN.facts[name, "boss"] == value for name, value in rows.items())
