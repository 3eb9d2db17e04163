import json

import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.core.errors import InputError
from handaxe.worlds.bfcl import package
from handaxe.worlds.toolbox import catalogue as module
from handaxe.worlds.toolbox.catalogue import (
    Catalogue,
    ToolEntry,
    full_catalogue,
    function_split,
    name_words,
    read_schemas,
    stub_value,
)


def entry(name, text, *, function=None, **properties):
    described = {
        "name": name,
        "description": text,
        "parameters": {"type": "dict", "properties": properties, "required": list(properties)},
    }
    return ToolEntry(name, function or name, described, "simple_python", text, name)


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    number = {"type": "integer"}
    return Catalogue(
        [
            entry("gcd", "greatest common divisor of numbers", a=number, b=number),
            entry("gcd_2", "greatest common divisor of two numbers", function="gcd", a=number, b=number),
            entry("gcd_3", "greatest common divisor", function="gcd", numbers={"type": "array", "items": number}),
            entry("area", "area of a circle", radius={"type": "float"}),
        ]
    )


def test_the_package_has_3205_schemas_of_1853_functions():
    entries = read_schemas()
    assert len(entries) == len({one.name for one in entries}) == 3205
    assert len({one.function for one in entries}) == 1853
    parameters = [json.dumps([one.function, one.document["parameters"]], sort_keys=True) for one in entries]
    assert len(set(parameters)) == 3205


def test_schemas_with_equal_parameter_names_are_one_result(small):
    assert [one.name for one in small.find("common divisor", 4)] == ["gcd_3", "gcd"]
    assert [one.name for one in small.find("circle", 4)] == ["area"]
    assert small.find("nothing alike", 4) == []


def test_a_result_has_the_requested_number_of_tools_despite_55_schemas_of_one_function():
    for count in (1, 5, 20):
        found = full_catalogue().find("weather in a city: the current temperature of the location", count)
        assert len(found) == len({one.signature for one in found}) == count


def test_a_stub_returns_the_digest_and_rejects_invalid_arguments(small):
    reply = small.call("gcd", {"b": 6, "a": 4})
    assert (reply.status, reply.content) == ("ok", str(stub_value("gcd", {"a": 4, "b": 6})))
    assert small.call("gcd_2", {"a": 4, "b": 6}).content == reply.content
    assert small.call("gcd", {"a": 4, "b": 7}).content != reply.content
    for wrong in ({"a": 4}, {"a": 4, "b": "six"}, {"a": 4, "b": 6.5}, {"a": 4, "b": 6, "c": 8}, {}):
        assert small.call("gcd", wrong).status == "invalid"
    assert small.call("area", {"radius": 2}).status == "ok"
    with pytest.raises(KeyError):
        small.call("lcm", {})


@pytest.mark.slow
def test_every_schema_has_a_stub():
    catalogue = full_catalogue()
    assert {catalogue.call(name, {"no such parameter": 1}).status for name in catalogue.entries} == {"invalid"}


def test_values_have_four_digits_and_a_quarter_of_the_functions_is_in_test():
    values = [stub_value("f", {"x": x}) for x in range(500)]
    assert min(values) >= 1000 and max(values) <= 9999 and len(set(values)) > 450
    functions = {one.function for one in read_schemas()}
    assert 0.22 < sum(function_split(one) == "test" for one in functions) / len(functions) < 0.28


def test_names_are_split_into_words():
    assert name_words("math.calcArea_of2") == ["math", "calc", "area", "of", "2"]
    assert name_words("US_president.inHTML") == ["us", "president", "in", "html"]


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setattr(package.importlib.util, "find_spec", lambda name: None)
    package._folder.cache_clear()
    module.read_schemas.cache_clear()
    try:
        with pytest.raises(InputError, match="pip install --no-deps bfcl-eval"):
            module.read_schemas()
    finally:
        package._folder.cache_clear()
