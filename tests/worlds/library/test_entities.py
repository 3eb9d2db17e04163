import pytest

from handaxe.core.errors import InputError
from handaxe.worlds.library.entities import RELATIONS, SHARES, build_world


def test_facts_have_the_relations_kind_and_stay_in_their_half():
    world = build_world(seed=3, size=200)
    for half in world.halves:
        for name in half:
            entity = world.entities[name]
            assert set(entity.facts) == {label for label, relation in RELATIONS.items() if relation.kind == entity.kind}
            for label, value in entity.facts.items():
                if RELATIONS[label].goal:
                    assert world.entities[value].kind == RELATIONS[label].goal
                    assert value in half and value != name
    train, test = map(set, world.halves)
    assert train | test == set(world.entities) and not train & test
    for kind in SHARES:
        names = {name for name, entity in world.entities.items() if entity.kind == kind}
        assert len(names & test) == max(2, len(names) // 4)


def test_names_are_distinct_new_words():
    world = build_world(seed=0, size=1000)
    names = [*world.entities, *(e.alias for e in world.entities.values() if e.alias)]
    assert len(set(names)) == len(names) and all(n.isalpha() and n.islower() and n.isascii() for n in names)
    assert not {word for label in RELATIONS for word in label.split()} & set(names)
    assert 0.2 < len([e for e in world.entities.values() if e.alias]) / len(world.entities) < 0.3
    kinds = [entity.kind for entity in world.entities.values()]
    assert {kind: kinds.count(kind) / len(kinds) for kind in SHARES} == pytest.approx(SHARES, abs=0.01)


def test_the_seed_determines_the_world():
    assert build_world(seed=1, size=60) == build_world(seed=1, size=60) != build_world(seed=2, size=60)
    for size in (59, 20_001):
        with pytest.raises(InputError, match="60 to 20000"):
            build_world(seed=0, size=size)
