from handaxe.core.records import ToolSchema
from handaxe.tools.build_tool import ToolUse, build_tool, find_use, list_schema
from handaxe.tools.library import Ticket, ToolCase, ToolDraft, ToolLibrary

CASE, HIDDEN = ToolCase({"xs": [1, 0, 0]}, [0, 0, 1]), ToolCase({"xs": [0, 2, 0, 0]}, [0, 0, 0, 2])


class Scripted:
    """Makes drafts of given bodies, and counts those that were asked for."""

    def __init__(self, *bodies):
        self.bodies, self.asked = bodies, 0

    def make(self, ticket):
        for body in self.bodies:
            self.asked += 1
            yield ToolDraft(ticket.schema, f"def {ticket.schema.name}(xs): return {body}", ticket.cases)


def test_the_first_verified_draft_is_admitted_and_no_further_one_is_made():
    maker, library = Scripted("xs[::-1]", "1 // 0", "[0, 0] + xs[:-2]", "xs"), ToolLibrary()
    found = build_tool(maker, library, Ticket(list_schema("move"), (CASE,)), [HIDDEN])
    assert found.use == ToolUse("move") and maker.asked == 3 and list(library.entries) == ["move"]
    assert [one.verdict for one in found.refusals] == ["failed", "failed"]


def test_the_limit_ends_the_loop():
    maker, library = Scripted("xs", "xs", "[0, 0] + xs[:-2]"), ToolLibrary()
    found = build_tool(maker, library, Ticket(list_schema("move"), (CASE,)), [HIDDEN], most=2)
    assert found.use is None and maker.asked == 2 and not library.entries


def library_of(**sources):
    library = ToolLibrary(accepts=("unverified",))
    for name, (extra, body, case) in sources.items():
        schema = list_schema(name, extra=extra)
        arguments = ", ".join(schema.parameters["properties"])
        library.admit(ToolDraft(schema, f"def {name}({arguments}): return {body}", (case,)), [])
    assert len(library.entries) == len(sources)
    return library


def test_a_tool_that_fits_all_cases_is_found_with_bound_parameters():
    bound = ToolCase({"xs": [1, 0], "n": 1}, [0, 1])
    zeros = ToolCase({"xs": [0, 0, 0]}, [0, 0, 0])
    library = library_of(
        flip=((), "xs[::-1]", CASE),
        move=(("n",), "[0] * n + xs[:-n]", bound),
        fail=((), "xs if xs[2] else xs", zeros),
    )
    assert find_use(library, [CASE]) == ToolUse("flip")
    assert find_use(library, [CASE, HIDDEN], values=(1, 2, 3)) == ToolUse("move", {"n": 2})
    assert find_use(library, [CASE, HIDDEN]) is None


def test_tools_with_more_uses_are_tried_first():
    library = library_of(old=((), "xs[::-1]", CASE), new=((), "sorted(xs)", CASE))
    assert find_use(library, [CASE]) == ToolUse("old")
    library.record("new", failed=False)
    assert find_use(library, [CASE]) == ToolUse("new")


def test_list_schemas_have_a_list_and_numbers():
    schema = list_schema("move", extra=("n",))
    assert isinstance(schema, ToolSchema) and schema.parameters["required"] == ["xs", "n"]
