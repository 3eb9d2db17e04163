from handaxe.core.records import Message, Task
from handaxe.papers.qta.unmet_requests import unmet_requests


def test_unmet_requests_are_distinct_and_not_sufficient():
    rows = [("a", 0.0), ("b", 1.0), ("a", 0.0), ("c", 0.0), ("d", 0.0)]
    tasks = [
        Task(f"t{number}", (Message("user", name),), "", None, {"request": name, "raw": raw})
        for number, (name, raw) in enumerate(rows)
    ]
    assert [one.id for one in unmet_requests(tasks, 2)] == ["t0", "t3"]
