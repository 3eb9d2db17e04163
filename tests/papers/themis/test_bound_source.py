from types import SimpleNamespace

from handaxe.papers.themis.bound_source import bound_source


def test_a_source_binds_the_judge_before_it_plays():
    seen = []
    judge = SimpleNamespace(bind=lambda engine, format: seen.append((engine, format)))
    site = SimpleNamespace(engine="engine", format="format")
    source = bound_source(judge=judge, source=lambda site: seen.append("played") or ["group"])
    assert source(site) == ["group"] and seen == [("engine", "format"), "played"]
