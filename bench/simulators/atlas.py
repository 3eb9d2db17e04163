"""The bare search of `atlas`: bm25s over the passages of its brief pages, with the reference queries."""

import time

__all__ = ["steps"]

TASKS = 100


def steps(seconds: float) -> tuple[int, float]:
    """Search for the queries of held-out tasks for about this long: (searches, seconds taken)."""
    import bm25s

    from handaxe.worlds.atlas.atlas_records import load_records
    from handaxe.worlds.atlas.pages import Atlas
    from handaxe.worlds.atlas.world import atlas

    passages = [page for pages in Atlas(load_records(), brief=True, chars=24).pages.values() for page in pages]
    texts = [f"{page.id}\n{page.text}" for page in passages]
    index = bm25s.BM25(method="lucene", backend="numpy")
    index.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    calls = [call for task in atlas().tasks("test", TASKS, 0) for call in task.metadata["gold_calls"]]
    queries = [call["arguments"]["query"] for call in calls if call["name"] == "search"]
    number, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        query = bm25s.tokenize(queries[number % len(queries)], stopwords=None, show_progress=False)
        index.retrieve(query, k=2, show_progress=False)
        number += 1
    return number, time.perf_counter() - begun
