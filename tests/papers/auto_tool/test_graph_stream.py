from dataclasses import replace
from types import SimpleNamespace

from handaxe.core.records import Task, ToolCall
from handaxe.papers.auto_tool.graph_stream import graph_stream
from handaxe.papers.auto_tool.inertia_graph import InertiaGraph
from handaxe.papers.auto_tool.inertial_calls import INERTIAL, Inertia
from handaxe.papers.auto_tool.parameter_edges import ParameterGraph
from handaxe.testing.make_records import make_trajectory

FIND, USE = ToolCall("find", {"key": "7"}), ToolCall("use", {"number": "79"})


class Policy:
    """Plays find, use and a text; use by the graph where there is one."""

    max_turns = 5

    def __init__(self):
        self.world = SimpleNamespace(
            env=lambda tools: lambda task: SimpleNamespace(start=lambda: ((), ("find", "use")), close=lambda: None),
            tools=(),
            need=lambda name: lambda task: [FIND] if task.id == "t2" else [FIND, USE],
        )
        self.chunks = []

    def play(self, tasks, *, seed, rollout):
        self.chunks.append(([task.id for task in tasks], seed, rollout is not None))
        notes = {} if rollout is None else {INERTIAL: [1]}
        texts, replies = ["", "", "done"], [["79"], ["ok"], []]
        made = make_trajectory(texts=texts, calls=[[FIND], [USE], []], replies=replies)
        return [(replace(made, task=task, notes=notes), float(task.id != "t1")) for task in tasks]


TASKS = [Task(f"t{n}", (), "") for n in range(3)]


def test_a_policy_without_a_graph_samples_every_turn():
    policy = Policy()
    run = graph_stream(policy, TASKS, None, chunk=2, seed=5)
    assert policy.chunks == [(["t0", "t1"], 5, False), (["t2"], 5, False)]
    assert run.right_T.tolist() == [1, 0, 1] and run.calls_T.tolist() == [3, 3, 3]
    assert run.inertial_T.tolist() == run.exact_T.tolist() == [0, 0, 0]


def test_the_graph_learns_each_conversation_and_its_turns_are_not_sampled():
    """In the last task, use is no reference call."""
    offered, graph = [], Inertia(InertiaGraph(similarity=lambda context, tool: 0.0), ParameterGraph())
    policy = Policy()
    run = graph_stream(policy, TASKS, lambda schemas: offered.append(schemas) or graph, chunk=2, seed=5)
    assert offered == [("find", "use")] and policy.chunks[0] == (["t0", "t1"], 5, True)
    assert run.calls_T.tolist() == [2, 2, 2] and run.inertial_T.tolist() == [1, 1, 1]
    assert run.exact_T.tolist() == [1, 1, 0]
    whole = graph_stream(Policy(), TASKS, None, chunk=3, seed=5)
    assert (run.tokens_T < whole.tokens_T).all()
    assert graph.tools._paths, "the graph has learned paths"
