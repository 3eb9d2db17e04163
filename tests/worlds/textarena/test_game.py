"""Running games of the real package."""

import pytest

pytest.importorskip("textarena")

from handaxe.core.errors import Failed, InfrastructureError, Retry
from handaxe.core.records import ToolCall
from handaxe.worlds.textarena.game import FAMILIES, ArenaGame, find_plan
from handaxe.worlds.textarena.world import WITH_EXPERT

WITHOUT_EXPERT = ("2048-v0", "Blackjack-v0", "Crosswords-v0", "LogicPuzzle-v0", "Minesweeper-v0-small", "Sokoban-v0")
LARGE = ("FrozenLake-v0-hardcore", "GuessTheNumber-v0-hardcore", "Mastermind-v0-extreme", "TowerOfHanoi-v0-extreme")


@pytest.mark.parametrize("brief", [True, False], ids=["key words", "own text"])
@pytest.mark.parametrize("name", WITH_EXPERT)
def test_the_plan_wins_in_the_planned_number_of_actions(name, brief):
    for number in range(3):
        game = ArenaGame(name, number, brief=brief)
        plan = find_plan(name, game.state(), game.secret())
        for n, action in enumerate(plan):
            assert not game.is_over and len(find_plan(name, game.state(), game.secret())) == len(plan) - n
            said = game.play(action)
            assert "not possible" not in said and said.strip()
        assert game.is_won or not plan
        assert game.report()["accepted"] == game.report()["steps"] == len(plan)


@pytest.mark.parametrize("name", LARGE)
def test_large_variants_are_won_from_visible_states(name):
    """The next action of a guessing game is planned without the secret."""
    game = ArenaGame(name, 1, brief=True)
    for _ in range(200):
        if game.is_over:
            break
        game.play(find_plan(name, game.state())[0])
    assert game.is_won


@pytest.mark.parametrize("name", [*WITH_EXPERT, *WITHOUT_EXPERT])
def test_an_equal_number_gives_an_equal_game_and_another_number_another(name):
    first, again, other = (ArenaGame(name, number, brief=True) for number in (5, 5, 6))
    assert (first.opening, first.state(), first.secret()) == (again.opening, again.state(), again.secret())
    assert (first.opening, first.state(), first.secret()) != (other.opening, other.state(), other.secret())


def test_a_snapshot_restores_the_random_results():
    game = ArenaGame("2048-v0", 3, brief=True)
    game.play.run(ToolCall("play", {"action": "up"}, "c"))
    state = game.snapshot()

    def rest():
        return [game.play.run(ToolCall("play", {"action": word}, "c")).content for word in ("left", "down", "right")]

    first = rest()
    game.restore(state)
    second = rest()
    game.restore(state)
    assert first == second == rest() and len(set(first)) > 1


def test_a_rejected_action_fails_and_a_second_in_a_row_loses():
    game = ArenaGame("FrozenLake-v0", 0, brief=True)
    with pytest.raises(Failed, match="not possible"):
        game.play("up")
    good = find_plan("FrozenLake-v0", game.state())[0]
    assert game.play(good) and not game.is_over
    back = {"down": "up", "right": "left"}[good]
    game.play(back)
    with pytest.raises(Failed):
        game.play("up")
    with pytest.raises(Failed, match="lost"):
        game.play("jump")
    assert game.is_over and not game.is_won and game.reward < 1
    with pytest.raises(Retry, match="over"):
        game.play("down")
    assert game.report()["steps"] == 5 and game.report()["accepted"] == 2


def test_a_call_with_several_actions_is_refused_without_a_step():
    """TowerOfHanoi of the package plays all moves of a text."""
    game = ArenaGame("TowerOfHanoi-v0", 2, brief=True)
    before = game.state()
    for said in ("A B] [B C", "", "x" * 61):
        with pytest.raises(Retry, match="one action"):
            game.play(said)
    assert game.state() == before and game.report()["steps"] == 0


def test_brackets_and_spaces_are_accepted():
    game = ArenaGame("GuessTheNumber-v0", 0, brief=True)
    assert game.play(" [ 10 ]".replace("[ 10 ]", "[10]")) in ("higher", "lower", "won")


def test_a_reward_swapped_with_its_reason_counts_as_zero():
    """Countdown of textarena 0.7.4 swaps both at the second rejected action."""
    game = ArenaGame("Countdown-v0", 0, brief=False)
    for _ in range(2):
        with pytest.raises(Failed) as caught:
            game.play("0 0 +")
    assert "The game is over." in str(caught.value) and "Invalid" in str(caught.value)
    assert game.reward == 0.0 and not game.is_won


def test_drawn_starts_are_shown_in_the_games_own_text():
    for name in ("TowerOfHanoi-v0", "PegJump-v0"):
        texts = {ArenaGame(name, number, brief=False).opening for number in range(6)}
        assert len(texts) > 3 and all(text.count("Current Board") + text.count("Pegs left") == 1 for text in texts)


def test_an_error_of_the_game_is_an_infrastructure_failure():
    game = ArenaGame("FrozenLake-v0", 0, brief=True)
    game._env.state.game_state["grid"] = None
    with pytest.raises(InfrastructureError, match="FrozenLake-v0 of textarena failed at action 'down'"):
        game.play("down")


def test_a_game_that_does_not_start_is_an_infrastructure_failure(monkeypatch):
    family = FAMILIES["FrozenLake"]._replace(arguments=lambda rng: {"size": "four"})
    monkeypatch.setitem(FAMILIES, "FrozenLake", family)
    with pytest.raises(InfrastructureError, match="FrozenLake-v0 of textarena does not start"):
        ArenaGame("FrozenLake-v0", 0, brief=True)
