from handaxe.papers.mle_dojo.pipeline_agent import FAULTS, pipeline_agent
from handaxe.worlds.parts.table_pipelines import STAGES


def played(statuses, **knobs):
    """Calls of an agent that gets these replies: "ok", "retry", or the position of a submission."""
    own = {"validates": False, "improves": True, "fault_rate": 0.0, "regression": False, "seed": 1, **knobs}
    agent = pipeline_agent(**own)
    facts = {"statuses": (), "replies": ()}
    calls = []
    for status in [*statuses, "ok"]:
        calls.append(agent(None, facts).calls[0])
        fine = status != "retry"
        text = f"accuracy 0.5 position {status} best 1.00" if isinstance(status, float) else "valid"
        facts = {"statuses": ("ok" if fine else "retry",), "replies": (text,)}
    return [(call.name, call.arguments["code"]) for call in calls]


def test_a_valid_program_is_executed_in_the_next_step():
    found = played(["retry", "ok", 0.5, "ok"], validates=True)
    assert [name.split("_")[0] for name, _ in found] == ["validate", "validate", "execute", "validate", "execute"]
    codes = [code for _, code in found]
    assert codes[1] == codes[2] and codes[3] == codes[4] and len({*codes}) == 3


def test_an_improving_agent_changes_one_step_of_the_best_program():
    codes = [code for _, code in played([0.5, 0.25, 0.125], seed=4)]
    best = set(codes[0].split("), "))
    assert all(len(best ^ set(code.split("), "))) <= 3 for code in codes[1:]) and len(set(codes)) > 1


def test_faults_change_the_program():
    code = "enter(SimpleImputer(), SVC(C=1))"
    changed = [fault(code) for fault in FAULTS]
    assert changed == [
        "enter(SVC(C=1))",
        "enter(SimpleImputer(), SVC(C=1)",
        "enter(Imputer(), SVC(C=1))",
        "make_pipeline(SimpleImputer(), SVC(C=1))",
    ]
    faulty = [code for _, code in played(["retry"] * 9, fault_rate=1.0)]
    assert not any(code.startswith("enter(SimpleImputer()") and code.endswith("))") for code in faulty)


def test_agents_with_one_seed_are_equal():
    assert played([0.5] * 5, seed=2) == played([0.5] * 5, seed=2) != played([0.5] * 5, seed=3)
    assert set(STAGES) == {"scale", "features", "model", "strength"}
