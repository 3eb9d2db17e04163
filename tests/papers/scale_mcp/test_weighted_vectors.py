import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.scale_mcp.weighted_vectors import weighted_average, weighted_vectors
from handaxe.worlds.toolbox.live_index import TextVectors
from handaxe.worlds.toolbox.tool_documents import ToolDocument

PARTS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


def slow(parts, weights):
    total = [sum(w * part[k] for w, part in zip(weights, parts, strict=True)) for k in range(len(parts[0]))]
    length = sum(x * x for x in total) ** 0.5
    return [x / length for x in total]


def test_average_equals_the_worked_example():
    assert weighted_average(PARTS, (0.2, 0.3, 0.5)) == pytest.approx([0.5812382, 0.8137335], abs=1e-6)
    assert weighted_average(np.array([[1.0], [-1.0]]), (0.5, 0.5)).tolist() == [0.0]


def test_average_equals_a_slow_loop():
    rng = np.random.default_rng(900)
    parts, weights = rng.normal(size=(4, 5)), rng.dirichlet(np.ones(4))
    assert weighted_average(parts, weights) == pytest.approx(slow(parts, weights), abs=1e-9)
    assert np.linalg.norm(weighted_average(parts, weights)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.5, 0.6, -0.1), (0.5, 0.5, 0.5)])
def test_bad_weights_raise(weights):
    with pytest.raises(InputError, match="with sum 1"):
        weighted_average(PARTS, weights)


def test_documents_are_averages_of_their_fields():
    known = {"n": [1.0, 0.0], "d": [0.0, 1.0], "q1": [0.6, 0.8], "q2": [1.0, 0.0]}
    vectors = TextVectors(lambda texts: np.array([known[text] for text in texts]))
    embed = weighted_vectors(vectors, {"name": 0.2, "description": 0.3, "questions": 0.5})
    full = ToolDocument("t", "n", "d", "unread", ("q1", "q2"))
    assert embed([full])[0] == pytest.approx(slow([known["n"], known["d"], [0.8, 0.4]], (0.2, 0.3, 0.5)), abs=1e-6)
    bare = full._replace(questions=())
    assert embed([bare])[0] == pytest.approx(slow([known["n"], known["d"]], (0.4, 0.6)), abs=1e-6)
    with pytest.raises(InputError, match="'title'"):
        weighted_vectors(vectors, {"title": 1.0})
