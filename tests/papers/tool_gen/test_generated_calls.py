import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.papers.tool_gen import generated_calls  # noqa: E402
from handaxe.papers.tool_gen.generated_calls import generating_agent, play_agent, retrieving_agent  # noqa: E402
from handaxe.papers.tool_gen.tool_lessons import ToolVocabulary  # noqa: E402
from handaxe.papers.tool_gen.train_generators import ToolGenerator  # noqa: E402
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest, function_catalogue  # noqa: E402
from handaxe.worlds.toolbox.questions import make_step  # noqa: E402

AREA, GCD = "calculate_triangle_area", "number_theory_gcd"
STEPS = (
    make_step(AREA, AREA, "", {"base": [10], "height": [5]}, {"base": 10, "height": 5}, "?"),
    make_step("math_gcd", "math.gcd", "", {"num1": [4], "num2": [6]}, {"num1": 4, "num2": 6}, "?"),
)
REQUEST = LabelledRequest("r", "the area\nthe divisor", STEPS)


class Bytes:
    def encode(self, text):
        return list(text.encode())


def names():
    return [AREA, "math_gcd"]


def play(monkeypatch, turns):
    vocabulary = ToolVocabulary(Bytes(), {AREA: (264,), "math_gcd": (265,)}, 266)
    scripted, seen = iter(turns), []

    def decode(model, ids, trie, *, end):
        seen.append(list(ids))
        return next(scripted)

    monkeypatch.setattr(generated_calls, "decode_tool", decode)
    return play_agent(generating_agent(ToolGenerator(None, vocabulary), REQUEST), REQUEST, names()), seen


def test_tokens_become_calls_with_the_arguments_of_their_step(monkeypatch):
    assert "math_gcd" in function_catalogue().entries
    played, seen = play(monkeypatch, [(265,), (264,), (266,)])
    assert played == (1.0, 1.0)
    assert bytes(seen[2][-6:-2]) == str(STEPS[0]["value"]).encode()  # the reply is read


def test_a_wrong_tool_and_an_early_end_lose_steps(monkeypatch):
    assert play(monkeypatch, [(264,), (266,)])[0] == (0.5, 0.0)
    assert play(monkeypatch, [(264,), (264,), (266,)])[0] == (0.5, 1.0)


def test_retrieving_agent_calls_a_tool_for_each_line():
    first = {"the area": [AREA, "math_gcd"], "the divisor": ["math_gcd"]}
    assert play_agent(retrieving_agent(REQUEST, first.__getitem__), REQUEST, names()) == (1.0, 1.0)
    assert play_agent(retrieving_agent(REQUEST, lambda text: []), REQUEST, names()) == (0.0, 0.0)
