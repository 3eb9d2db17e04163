from handaxe.core.records import Group
from handaxe.papers.ctrls.path_figures import path_figures
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.worlds.worked_steps import worked_steps


def lines(task, *texts):
    last = [*[""] * (len(texts) - 1), texts[-1]]
    names = [*[["line"]] * (len(texts) - 1), []]
    one = make_trajectory(task=task, texts=last, calls=names, replies=[["x"] * len(own) for own in names])
    for turn, text in zip(one.turns, texts[:-1], strict=False):
        turn.parsed.calls[0].arguments["text"] = text
    return one


def test_paths_differ_by_lines_and_count_if_correct():
    task = make_task(answer="14")
    found = [("4+7=11", "11+3=14", "14"), ("4+7=11", "11+3=14", "14"), ("4+7=10", "10+3=14", "14"), ("4+7+3=15", "15")]
    figures = path_figures(worked_steps(), Group(task, tuple(lines(task, *own) for own in found)))
    assert figures["paths"] == 2 and figures["accuracy"] == 0.75 and figures["solved"] == 1
