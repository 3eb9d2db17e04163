import json
from dataclasses import replace
from fractions import Fraction

import pytest

pytest.importorskip("reasoning_gym")

from handaxe.core.errors import TaskError, VerifierError
from handaxe.core.records import Message, Task
from handaxe.testing.task_contract import check_tasks
from handaxe.worlds.parts.reasoning_gym import _decode, _encode, is_full_score, score, tasks

# Cheap generators of every category, whose items have tuples, sets and integer keys.
CHEAP = [
    "ab", "acre", "aiw", "base_conversion", "basic_arithmetic", "binary_matrix", "bitwise_arithmetic", "caesar_cipher",
    "calendar_arithmetic", "chain_sum", "coin_flip", "complex_arithmetic", "count_bits", "count_primes", "dice",
    "family_relationships", "fraction_simplification", "gcd", "largest_island", "lcm", "leg_counting", "maze",
    "n_queens", "number_sorting", "polynomial_multiplication", "prime_factorization", "products", "shortest_path",
    "simple_equations", "simple_integration", "spell_backward", "syllogism", "time_intervals", "tower_of_hanoi",
    "word_sorting",
]  # fmt: skip


@pytest.mark.parametrize("name", CHEAP)
def test_tasks_keep_the_contract(name):
    made = tasks(name, count=4, seed=0)
    check_tasks(made, score)
    wrong = score(made[0], "no idea")
    assert 0 <= wrong < 1


def test_tasks_match_the_example():
    (task,) = tasks("gcd", count=1, seed=0, config={"gcd": {"max_numbers": 3}}, tools=("calculator",))
    assert task.messages[0].content.startswith("Find the Greatest Common Divisor (GCD) of these numbers:")
    assert task.tools == ("calculator",)
    assert set(task.metadata) == {"generator", "seed", "index", "config", "entry"}
    assert task.metadata["config"] == {"max_numbers": 3}
    import reasoning_gym

    data = reasoning_gym.create_dataset("gcd", size=64, seed=task.metadata["seed"], max_numbers=3)
    item = data[task.metadata["index"]]
    assert (item["question"], item["answer"]) == (task.messages[0].content, task.answer)
    assert _decode(task.metadata["entry"]) == item["metadata"]


def test_score_returns_the_generators_partial_credit():
    (task,) = tasks("gcd", count=1, seed=0)
    assert score(task, task.answer) == 1.0
    assert 0 < score(task, f"it is {task.answer}") < 1
    assert score(task, " \n") == 0.0
    (task,) = tasks("fraction_simplification", count=1, seed=0)
    assert score(task, "") == 0.0, "its own scorer gives 0.01"


def test_near_answers_have_no_full_score():
    """Answers with more than half of the scorers' credit."""
    for name, near in (("lcm", "{}0"), ("products", "{}0"), ("chain_sum", "{}0")):
        (task,) = tasks(name, count=1, seed=0)
        wrong = near.format(task.answer)
        assert (
            0.5 < score(task, wrong) < 1
            and is_full_score(task, wrong) == 0.0
            and is_full_score(task, task.answer) == 1.0
        )


@pytest.mark.parametrize("name", CHEAP)
def test_the_reference_answer_has_full_score(name):
    assert [is_full_score(task, task.answer) for task in tasks(name, count=4, seed=0) if task.answer is not None] == [
        1.0
    ] * 4


def test_a_permissive_scorer_is_replaced():
    for task in tasks("game_of_life_halting", count=4, seed=0):
        assert score(task, task.answer) == 1.0
        assert score(task, str(task.answer != "True")) == 0.0
        assert score(task, "no idea") == 0.0


def test_splits_share_no_question():
    small = {"coin_flip": {}, "products": {"min_digits": 1, "max_digits": 1}}
    for name, config in small.items():
        train = {t.messages for seed in range(3) for t in tasks(name, count=30, seed=seed, config={name: config})}
        test = {t.messages for t in tasks(name, count=15, seed=0, split="test", config={name: config})}
        assert not train & test and len(test) == 15


def test_spans_of_seeds_are_disjoint():
    for split, odd in (("train", 0), ("test", 1)):
        made = [task for seed in range(9) for task in tasks("gcd", count=3, seed=seed, split=split)]
        assert {task.metadata["seed"] // 1_000_000 % 2 for task in made} == {odd}


def test_the_seed_determines_tasks():
    mix = {"gcd": 1.0, "chain_sum": 3.0}
    first = tasks(mix, count=80, seed=3)
    assert first == tasks(mix, count=80, seed=3)
    assert first[:30] == tasks(mix, count=30, seed=3)
    assert len({t.messages for t in first}) == 80 and len({t.id for t in first}) == 80
    assert first != tasks(mix, count=80, seed=4)
    share = sum(t.metadata["generator"] == "chain_sum" for t in first) / 80
    assert 0.6 < share < 0.9


def test_too_few_distinct_questions_raise():
    config = {"products": {"min_digits": 1, "max_digits": 1}}
    with pytest.raises(TaskError, match=r"has only \d+ distinct questions for split 'test'"):
        tasks("products", count=200, seed=0, split="test", config=config)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"generators": "chain_sums"}, "no generator 'chain_sums'; did you mean .*chain_sum"),
        ({"generators": "zzzz"}, "there are ab, acre"),
        ({"count": 0}, "empty"),
        ({"generators": {}}, "empty"),
        ({"generators": {"gcd": 0.0}}, "weight of generator 'gcd' is 0.0"),
        ({"config": {"gcd": {"no_such": 1}}}, "refuses the config"),
        ({"config": {"gcd": {"seed": 1}}}, "refuses the config"),
        ({"config": {"gcd": {"min_numbers": 9, "max_numbers": 2}}}, "refuses the config"),
        ({"config": {"lcm": {}}}, r"config is given for \['lcm'\]"),
        ({"split": "dev"}, "no split 'dev'"),
        ({"generators": "composite"}, "refuses the config"),
    ],
)
def test_invalid_arguments_raise(arguments, message):
    with pytest.raises(TaskError, match=message):
        tasks(**{"generators": "gcd", "count": 1, "seed": 0} | arguments)


def test_foreign_tasks_and_failing_scorers_raise():
    with pytest.raises(TaskError, match="not of reasoning-gym"):
        score(Task("t", (Message("user", "?"),)), "1")
    (task,) = tasks("gcd", count=1, seed=0)
    assert score(task, "no number") == 0.0
    (task,) = tasks("prime_factorization", count=1, seed=0)
    assert score(task, "no idea") == 0.0, "its own scorer raises ValueError"
    with pytest.raises(VerifierError, match="scorer of 'prime_factorization' fails"):
        score(replace(task, answer="no numbers"), "2")


def test_encode_round_trips_values():
    value = {"a": (1, [2.5, None, True]), 3: {4, 5}, "b": {"<tuple>": [1]}, "c": frozenset({"x"}), "d": {}, "e": {1: 2}}
    value["f"] = Fraction(1, 4)
    decoded = _decode(json.loads(json.dumps(_encode(value, "gcd"))))
    assert decoded == value and type(decoded["a"]) is tuple and type(decoded["c"]) is frozenset
    assert type(decoded["f"]) is Fraction
    with pytest.raises(TaskError, match="holds a object"):
        _encode({"a": object()}, "gcd")
