import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.models.embeddings import embeddings
from handaxe.models.load import load
from handaxe.papers.mixed_r1.arithmetic_and_charts import arithmetic_and_charts, score_parts
from handaxe.papers.mixed_r1.embedding_match import bidirectional, embedding_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory

TABLE = {letter: np.random.default_rng(k).normal(size=4) for k, letter in enumerate("abcdefgh45")} | {"0": np.zeros(4)}


def embed(text):
    rows = [TABLE[letter] for letter in text if letter in TABLE]
    return np.array(rows) if rows else np.zeros((0, 4))


CONTRACT = [{"embed": embed}]


def words_by_embedding(world):
    del world
    return score_parts(words=embedding_match(embed=embeddings(load("tiny"))))


LAB = [
    LabCase("embedding_match(...)", arithmetic_and_charts, words_by_embedding),
]


def scored(gold, *texts, **options):
    task = make_task(answer=gold)
    group = make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task) for text in texts])
    return embedding_match(embed=embed, **options)(group).outcome.tolist()


def test_embedding_match_equals_the_worked_example():
    assert bidirectional(np.array([[1, 0.2], [0.5, 0.6], [0.1, 0.9]])) == pytest.approx((2.5 / 3 + 0.95) / 2)
    assert round(bidirectional(np.array([[1, 0.2], [0.5, 0.6], [0.1, 0.9]])), 4) == 0.8917


def cosine(a, b):
    lengths = sum(x * x for x in a) ** 0.5 * sum(x * x for x in b) ** 0.5
    return sum(x * y for x, y in zip(a, b)) / lengths if lengths else 0.0


def slow(said, gold):
    rows = [max(cosine(TABLE[a], TABLE[b]) for b in gold) for a in said]
    columns = [max(cosine(TABLE[a], TABLE[b]) for a in said) for b in gold]
    return (sum(rows) / len(rows) + sum(columns) / len(columns)) / 2


def test_embedding_match_equals_a_slow_loop():
    draw = np.random.default_rng(3)
    for _ in range(50):
        said, gold = ("".join(draw.choice(list("abcdefgh0"), size=draw.integers(1, 7))) for _ in range(2))
        assert scored(gold, said)[0] == pytest.approx(slow(said, gold), abs=1e-12)


def test_order_has_no_effect_and_unrelated_or_missing_tokens_cost():
    same, turned, longer, shorter = scored("abc", "abc", "cab", "abcdefgh", "a")
    assert same == pytest.approx(1) and turned == pytest.approx(1)
    assert longer < 0.95 and shorter < 0.95


def test_embedding_match_scores_empty_answers_zero():
    assert scored("abc", "", "?", "0") == [0, 0, 0]  # nothing, no token of the table, a row of zeros
    assert scored(["abc", "fgh"], "fgh", "abc") == pytest.approx([1, 1])
    assert np.isfinite(scored("abc", "ab" * 20_000)).all()
    silent = make_trajectory(layouts=["UUt"], task=make_task(answer="a"))
    assert embedding_match(embed=embed)(make_group(task=silent.task, trajectories=[silent])).outcome.tolist() == [0]
    with pytest.raises(TaskError):
        scored(None, "abc")
    with pytest.raises(InputError, match="one row a token"):
        embedding_match(embed=lambda text: np.zeros(3))(
            make_group(trajectories=[make_trajectory(texts=["a"], task=make_task(answer="a"))])
        )
