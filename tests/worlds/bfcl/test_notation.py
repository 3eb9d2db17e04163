import contextlib
import importlib
import io
import random

import pytest

from handaxe.worlds.bfcl.notation import LONGEST, NOTATIONS

JAVA, JAVASCRIPT = NOTATIONS["simple_java"], NOTATIONS["simple_javascript"]
TABLE = [
    (JAVA, "5", "integer", "", 5),
    (JAVA, "5L", "integer", "", "5L"),
    (JAVA, "-5L", "long", "", -5),
    (JAVA, "5", "long", "", "5"),
    (JAVA, "0.5", "double", "", 0.5),
    (JAVA, "2.5e1f", "float", "", 25.0),
    (JAVA, "true", "boolean", "", True),
    (JAVA, "True", "boolean", "", "True"),
    (JAVA, '"a"', "String", "", '"a"'),
    (JAVA, "new int[]{1, 2}", "Array", "integer", [1, 2]),
    (JAVA, 'new String[] {"a", b}', "Array", "String", ['"a"', "b"]),
    (JAVA, "new int[]{}", "Array", "integer", []),
    (JAVA, "[1]", "Array", "integer", "[1]"),
    (JAVA, "new ArrayList<>(Arrays.asList(1L, 2L))", "ArrayList", "long", [1, 2]),
    (JAVA, 'new ArrayList<String>() {{ add("a"); add("b"); }}', "ArrayList", "String", ["a", "b"]),
    (JAVA, "new ArrayList<>()", "ArrayList", "String", []),
    (JAVA, 'new HashMap<>() {{ put("a", 1); put("b", "c"); }}', "HashMap", "", {"a": 1, "b": "c"}),
    (JAVA, "new HashMap<String, Integer>()", "HashMap", "", {}),
    (JAVA, "a variable", "HashMap", "", "a variable"),
    (JAVASCRIPT, "'a'", "String", "", "a"),
    (JAVASCRIPT, "a", "String", "", "a"),
    (JAVASCRIPT, "5n", "Bigint", "", 5),
    (JAVASCRIPT, "5.5", "float", "", 5.5),
    (JAVASCRIPT, "false", "Boolean", "", False),
    (JAVASCRIPT, "['a', \"b\"]", "array", "String", ["a", "b"]),
    (JAVASCRIPT, "new Array(1, 2)", "array", "integer", [1, 2]),
    (JAVASCRIPT, "[]", "array", "String", []),
    (JAVASCRIPT, "{a: 1, 'b': \"c, d\", e: [f, g]}", "dict", "", {"a": 1, "b": "c, d", "e": ["f", "g"]}),
    (JAVASCRIPT, "{}", "dict", "", {}),
]


@pytest.mark.parametrize("notation, text, kind, inner, value", TABLE)
def test_values_are_parsed(notation, text, kind, inner, value):
    found = notation.read(text, kind, inner)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "notation, value, kind, inner",
    [
        (JAVA, [1, 2], "Array", "integer"),
        (JAVA, ["a", "b"], "ArrayList", "String"),
        (JAVA, ["a", "b"], "Array", "String"),
        (JAVA, {"a": 1, "b": True, "c": "d"}, "HashMap", ""),
        (JAVA, 5, "long", ""),
        (JAVASCRIPT, ["a", "b"], "array", "String"),
        (JAVASCRIPT, {"a": 1, "b": ["c"]}, "dict", ""),
        (JAVASCRIPT, False, "Boolean", ""),
    ],
)
def test_spellings_parse_to_their_value(notation, value, kind, inner):
    assert value in [notation.read(text, kind, inner) for text in notation.spellings(value, kind, inner)]


def test_parsed_values_equal_the_packages():
    """Texts with changed characters; the package reads only short ones, on which it terminates."""
    pytest.importorskip("bfcl_eval")
    rng, compared, read = random.Random(0), 0, 0
    place = "bfcl_eval.eval_checker.ast_eval.type_convertor."
    theirs = {
        "Java": importlib.import_module(place + "java_type_converter").java_type_converter,
        "JavaScript": importlib.import_module(place + "js_type_converter").js_type_converter,
    }
    for _ in range(300):
        for notation, text, kind, inner, _ in TABLE:
            said = altered(text, rng)
            if "[[" in said.replace(" ", "") or "([" in said.replace(" ", ""):
                continue  # lists of lists
            with contextlib.redirect_stdout(io.StringIO()):
                wanted = theirs[notation.called](said, kind, inner or None)
            found = notation.read(said, kind, inner)
            assert repr(found) == repr(wanted), (said, kind, inner)
            compared += 1
            read += found != said
    assert compared > 8000 and read > 2500


def altered(text, rng):
    letters = list(text)
    for _ in range(rng.choice([0, 1, 2, 4])):
        place = rng.randrange(len(letters) + 1)
        if rng.random() < 0.4 and letters:
            letters.pop(min(place, len(letters) - 1))
        else:
            letters.insert(
                place, rng.choice(list(" ,:;{}()[]<>\"'15.eEfLn-_\nab") + ["}}", 'put("a",', "add(", "true"])
            )
    return "".join(letters)


def test_unsupported_values_stay_text():
    long = "[" + "1, " * LONGEST + "1]"
    assert JAVASCRIPT.read(long, "array", "integer") == long
    hostile = "[[" + "],[" * 300
    assert JAVASCRIPT.read(hostile, "array", "integer") == hostile
    digits = "9" * 5000
    assert JAVA.read(digits, "integer", "") == digits


def test_no_answer_needs_unsupported_values():
    pytest.importorskip("bfcl_eval")
    from handaxe.worlds.bfcl.package import read_answers

    for category in NOTATIONS:
        for answer in read_answers(category):
            ((parameters,),) = [list(one.values()) for one in answer["ground_truth"]]
            for values in parameters.values():
                for value in values:
                    assert not isinstance(value, list) or not any(isinstance(one, list) for one in value)
                    assert len(str(value)) < LONGEST / 2
