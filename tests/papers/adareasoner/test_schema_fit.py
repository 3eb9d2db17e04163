import random

import pytest

from handaxe.papers.adareasoner.schema_fit import fits_schema

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
TREE = {"type": "object", "properties": {"down": {"$ref": "#/$defs/tree"}}, "additionalProperties": False}
ROOT = {"$defs": {"point": POINT, "tree": TREE, "round": {"$ref": "#/$defs/round"}}}


def test_schema_fit_matches_its_example():
    maybe = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert [fits_schema(value, maybe, root={}) for value in (1, None, "no")] == [True, True, False]
    numbers = {"type": "array", "items": {"type": "integer"}}
    assert [fits_schema(value, numbers, root={}) for value in ([1], ["a"])] == [True, False]


KEYWORDS = [
    {},
    {"enum": ["a", 1]},
    {"const": 2},
    {"type": ["string", "null"]},
    {"minimum": 1, "exclusiveMaximum": 3},
    {"maximum": 2, "exclusiveMinimum": 0},
    {"minLength": 1, "maxLength": 2, "minItems": 1, "maxItems": 2},
    {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
    {"allOf": [{"type": "number"}, {"minimum": 1}]},
    {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
    {"additionalProperties": {"type": "integer"}},
    {"$ref": "#/$defs/point"},
    {"$ref": "#/$defs/tree"},
]


@pytest.mark.parametrize("schema", KEYWORDS, ids=str)
def test_fits_schema_agrees_with_a_json_schema_validator(schema):
    validator = pytest.importorskip("jsonschema").Draft202012Validator({**ROOT, **schema})
    draw = random.Random(0)

    def drawn(deep):
        plain = [None, True, 0, 1, 2, 3, 1.0, 1.5, "", "a", "abc"]
        if not deep or draw.random() < 0.5:
            return draw.choice(plain)
        name = draw.choice(["x", "y", "down", ""])
        return {name: drawn(deep - 1)} if name else [drawn(deep - 1) for _ in range(draw.randint(0, 3))]

    for _ in range(200):
        value = drawn(2)
        assert fits_schema(value, schema, root=ROOT) == validator.is_valid(value), value


def test_endless_references_do_not_fit_and_unknown_ones_do():
    assert fits_schema(1, {"$ref": "https://a.b/c"}, root=ROOT) and fits_schema(1, {"$ref": "#/$defs/other"}, root=ROOT)
    assert not fits_schema(1, {"$ref": "#/$defs/round"}, root=ROOT)
    deep = {}
    for _ in range(5000):
        deep = {"down": deep}
    assert not fits_schema(deep, {"$ref": "#/$defs/tree"}, root=ROOT)
    assert fits_schema(1, True, root=ROOT) and not fits_schema(1, False, root=ROOT)
