import itertools
import math

import pytest

from handaxe.worlds.textarena.guessing import GUESS_THE_NUMBER, MASTERMIND, first_consistent, pegs


def number_state(low, high, *guesses):
    return {"low": low, "high": high, "guesses": [list(one) for one in guesses]}


def code_state(*history, length=4, digits=6, repeats=False):
    return {"length": length, "digits": digits, "repeats": repeats, "history": [list(one) for one in history]}


def test_bisection_finds_every_number_within_the_logarithm():
    most = [len(GUESS_THE_NUMBER.plan(number_state(1, 20), secret)) for secret in range(1, 21)]
    assert max(most) == math.floor(math.log2(20)) + 1 and sum(one == 1 for one in most) == 1


def test_the_next_number_follows_from_guesses_alone():
    assert GUESS_THE_NUMBER.plan(number_state(1, 20), None) == ("10",)
    assert GUESS_THE_NUMBER.plan(number_state(1, 20, (10, "higher")), None) == ("15",)
    # Guesses outside the order of bisection count, too.
    assert GUESS_THE_NUMBER.plan(number_state(1, 20, (18, "lower"), (3, "higher")), None) == ("10",)


def test_pegs_equal_the_package_for_repeated_digits():
    arena = pytest.importorskip("textarena.envs.Mastermind.env").MastermindEnv(4, 3, 20, True)
    codes = list(itertools.product((1, 2, 3), repeat=4))[::4]
    arena.reset(num_players=1, seed=0)
    for code, guess in itertools.product(codes, codes):
        arena.state.game_state["secret_code"] = list(code)
        assert pegs(guess, code) == arena._evaluate_guess(list(guess))


@pytest.mark.parametrize("repeats", [False, True])
def test_the_first_consistent_code_equals_a_scan_of_all_codes(repeats):
    codes = [one for one in itertools.product(range(1, 6), repeat=3) if repeats or len(set(one)) == 3]
    for secret in codes[::7]:
        history = [[list(guess), *pegs(guess, secret)] for guess in codes[3:40:18]]
        scanned = next(c for c in codes if all(pegs(g, c) == (black, white) for g, black, white in history))
        assert first_consistent(code_state(*history, length=3, digits=5, repeats=repeats)) == scanned


def test_contradictory_replies_have_no_consistent_code():
    state = code_state([[1, 2, 3, 4], 4, 0], [[1, 2, 3, 5], 4, 0])
    assert first_consistent(state) is None and MASTERMIND.plan(state, None) is None


def test_codes_are_found_from_replies_alone():
    for secret in ((1, 2, 3, 4), (6, 5, 4, 3), (2, 4, 6, 1)):
        plan = MASTERMIND.plan(code_state(), list(secret))
        assert plan[0] == "1 2 3 4" and plan[-1] == " ".join(map(str, secret)) and len(plan) <= 7
        history = []
        for action in plan:
            assert MASTERMIND.plan(code_state(*history), None) == (action,)
            guess = [int(digit) for digit in action.split()]
            history.append([guess, *pegs(guess, secret)])
