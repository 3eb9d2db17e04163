from handaxe.ops.seeds import derive_seed, generator


def test_derive_seed_is_stable_across_machines():
    assert derive_seed(0, 3, "sum-17", 2) == 3210855640321992823


def test_neighbouring_paths_give_different_seeds():
    """No two of many paths collide, not even where their texts run together or a number looks like a text."""
    paths = [(a, b, c) for a in range(20) for b in range(20) for c in ("x", "1")]
    paths += [(1, 23), (12, 3), ("1", 23), ("a", "b"), ("ab",), ("a", "", "b")]
    assert len({derive_seed(*path) for path in paths}) == len(paths)
    assert all(0 <= derive_seed(*path) < 2**63 for path in paths)


def test_generators_of_different_paths_are_uncorrelated():
    a, b, again = generator("a").random(1000), generator("b").random(1000), generator("a").random(1000)
    assert (a == again).all() and abs(((a - 0.5) * (b - 0.5)).mean()) < 0.02
