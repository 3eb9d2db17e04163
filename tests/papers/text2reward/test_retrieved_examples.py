import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.text2reward.example_programs import EXAMPLES, Example
from handaxe.papers.text2reward.retrieved_examples import retrieved_examples
from handaxe.training.stages.parts.program_search import Brief, Feedback

BRIEF = Brief(("ok", "turn"), Feedback())
POOL = [Example("walk in a grid", "grid()"), Example("add numbers", "add()"), Example("grid of numbers", "both()")]
WORDS = ("walk", "grid", "add", "numbers")


def counts(texts):
    """Word counts of length 1, an embedding that can be worked out by hand."""
    found = np.array([[text.split().count(word) for word in WORDS] for text in texts], dtype=float)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


def described(goal, count, pool=POOL, author="smollm2"):
    describe = retrieved_examples(
        lambda brief: f"keys {brief.names}", pool=pool, goal=goal, count=count, author=author, embed=counts
    )
    return describe(BRIEF)


def test_retrieved_examples_matches_its_example():
    text = described("grid", 1, POOL[:2])
    assert text.startswith("keys ('ok', 'turn')\n\n") and "grid()" in text and "add()" not in text
    assert text.endswith("Task: walk in a grid\n```python\ngrid()\n```")


@pytest.mark.parametrize("goal", ["grid", "add numbers", "walk grid grid", "numbers"])
def test_the_order_equals_a_slow_loop(goal):
    text = described(goal, 3)
    query = counts([f"{goal}\nkeys ('ok', 'turn')"])[0]
    ranked = []
    for number, one in enumerate(POOL):
        cosine = sum(a * b for a, b in zip(query, counts([one.instruction])[0]))
        ranked.append((-cosine, -number, one.program))
    places = [text.index(program) for _, _, program in sorted(ranked)]
    assert places == sorted(places)


def test_no_example_leaves_the_description_alone():
    assert described("grid", 0) == "keys ('ok', 'turn')"


@pytest.mark.parametrize("count", [-1, 4])
def test_more_examples_than_the_pool_has_are_refused(count):
    with pytest.raises(InputError, match=f"--examples is {count}, and the pool has 3: give 0 to 3"):
        described("grid", count)


def test_examples_that_nobody_reads_are_refused():
    with pytest.raises(InputError, match="--examples 2 goes into the request to a model: name one with --author"):
        described("grid", 2, author="grammar")
    assert described("grid", 0, author="grammar") == "keys ('ok', 'turn')"


def test_sentence_embeddings_find_the_grid():
    describe = retrieved_examples(
        lambda brief: "", pool=EXAMPLES, goal="move in a maze with walls", count=1, author="smollm2"
    )
    assert "Walk through a grid" in describe(BRIEF)
