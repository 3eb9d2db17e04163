"""Names, exclusions, the generator of a game, and the import without a network."""

import random
import subprocess
import sys
import threading

import pytest

pytest.importorskip("textarena")

from handaxe.core.errors import InputError
from handaxe.worlds.textarena.game import FAMILIES
from handaxe.worlds.textarena.games import EXCLUDED, check_games, game_class, game_family, use_generator

OFFLINE = """
import socket

def refuse(*arguments, **options):
    raise SystemExit("network")

socket.socket.connect = socket.getaddrinfo = refuse
import sys
from handaxe.worlds.textarena.world import textarena
world = textarena(games=("GuessTheNumber-v0",))
print(len(world.tasks("train", 2, 0)), [name for name in ("torch", "openai", "transformers") if name in sys.modules])
"""


def test_every_game_for_one_player_is_played_or_left_out_with_a_reason():
    from textarena.envs.registration import ENV_REGISTRY

    names = list(ENV_REGISTRY)
    alone = {game_family(name) for name in names[: names.index("Alquerque-v0")]}  # two players from there on
    assert alone == set(FAMILIES) | set(EXCLUDED)


@pytest.mark.parametrize("family", sorted(EXCLUDED))
def test_an_excluded_game_is_named_with_its_reason(family):
    with pytest.raises(InputError, match=f"'{family}-v0' is left out: {family} "):
        check_games([f"{family}-v0"], list(FAMILIES))


@pytest.mark.parametrize("name", ["FrozenLake", "FrozenLake-v0-train", "FrozenLake-v0-raw", "FrozenLake-v1"])
def test_an_unknown_variant_is_named_with_the_known_ones(name):
    known = "FrozenLake-v0, FrozenLake-v0-random, FrozenLake-v0-hardcore$"
    with pytest.raises(InputError, match=f"'{name}' is no name of textarena; FrozenLake has {known}"):
        check_games([name], list(FAMILIES))


@pytest.mark.parametrize("name", ["Frozen", "TicTacToe-v0"])
def test_an_unknown_family_is_named_with_the_known_ones(name):
    with pytest.raises(InputError, match=f"'{name}' is no game for one player; there are 2048-v0, Bandit-v0, "):
        check_games([name], list(FAMILIES))


def test_a_solved_fifteen_puzzle_raises_as_its_exclusion_states():
    arena, _ = game_class("FifteenPuzzle-v0")
    game = arena()
    game.reset(num_players=1, seed=0)
    game.board[:] = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, None, 15]]
    with pytest.raises(AttributeError, match="set_winners"):
        game.step("[left]")


def test_games_draw_from_their_own_generator():
    arena, arguments = game_class("Blackjack-v0")
    before = random.getstate()

    def hands(seed):
        with use_generator(random.Random(seed)):
            game = arena(**arguments)
            game.reset(num_players=1, seed=seed)
            return game.state.game_state["player_hand"]

    found = [hands(seed) for seed in (1, 2, 1)]
    assert found[0] == found[2] != found[1] and random.getstate() == before


def test_generators_of_threads_are_separate():
    arena, arguments = game_class("2048-v0")
    drawn, ready = {}, threading.Barrier(4)

    def play(seed):
        with use_generator(random.Random(seed)):
            game = arena(**arguments)
            game.reset(num_players=1, seed=seed)
            for _ in range(20):
                ready.wait()
                for action in ("[up]", "[left]", "[down]"):
                    game.step(action)
            drawn[seed].append(game.state.game_state["board"])

    for _ in range(2):
        threads = [threading.Thread(target=play, args=(seed,)) for seed in range(4)]
        for seed, thread in enumerate(threads):
            drawn.setdefault(seed, [])
            thread.start()
        for thread in threads:
            thread.join()
    assert all(first == second for first, second in drawn.values())


@pytest.mark.slow
def test_the_world_needs_no_network_and_no_model():
    found = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True)
    assert found.stdout.strip() == "2 []", found.stderr


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "textarena", None)
    with pytest.raises(InputError, match=r'pip install "handaxe\[textarena\]"'):
        check_games(["FrozenLake-v0"], list(FAMILIES))
