// Page of a run: curves, steps, and a table of rollouts with sorting, filters and search.
import { LIVE, ask } from "./source.js";
import { curves } from "./chart.js";
import { note, to } from "./links.js";
import { classKind } from "./page_step.js";
import { table } from "./table.js";
import { badge, block, count, facts, figure, jsonBlock, make, plain, put, seconds, when } from "./text.js";

const EXPORTS = [["jsonl", "JSONL"], ["datasets", "Hugging Face datasets"], ["inspect", "Inspect log"]];
const FIELDS = ["text", "tool", "task", "outcome", "fate", "trained", "low", "high", "first", "last"];

export async function pageOfRun(name, params) {
  const [about, all] = await Promise.all([ask("run", { run: name }), ask("runs")]);
  const me = all.runs.find((run) => run.name === name) ?? { name, setting: "", method: "" };
  const chart = curves(() => [me], { axes: all.axes });
  const filter = filters(about, params);
  const columns = [
    { name: "id", title: "rollout", numeric: true, sortable: false, show: (id) => make("a", { href: to(["run", name, "rollout", id]) }, String(id)) },
    { name: "step", title: "step", numeric: true, show: (step) => make("a", { href: to(["run", name, "step", step + 1]) }, String(step + 1)) },
    { name: "task", title: "task" }, { name: "sample", title: "sample", numeric: true, sortable: false, show: (sample) => String(sample + 1) },
    { name: "outcome", title: "outcome", show: (outcome, row) => put(make("span", { class: `badge ${classKind(outcome)}`, title: plain(`${row.ending} ${row.reason}`) }), outcome.replaceAll("_", " ")) },
    { name: "score", title: "score", numeric: true, show: (value) => figure(value) },
    { name: "turns", title: "turns", numeric: true }, { name: "calls", title: "calls", numeric: true },
    { name: "tokens", title: "tokens", numeric: true, show: (value) => figure(value) },
    { name: "seconds", title: "time", numeric: true, show: (value) => seconds(value) },
    { name: "cost", title: "cost", numeric: true, show: (value) => figure(value) },
    { name: "trained", title: "in the loss", show: (value) => (value ? "yes" : badge("no", "bad")) },
    { name: "fate", title: "group" }, { name: "final", title: "final text", sortable: false },
  ];
  const arranged = (rows, names) => rows.map((row) => {
    const by = Object.fromEntries(names.map((one, k) => [one, row[k]]));
    return Object.assign(columns.map((column) => by[column.name]), { ending: by.ending, reason: by.reason });
  });
  const fetchPage = async (page) => {
    const found = await ask("rows", { run: name, ...filter.query(), ...page }).catch((error) => { filter.say(error.message); throw error; });
    filter.say(`${count(found.filtered)} of ${count(found.total)} rollouts`);
    return { ...found, rows: arranged(found.rows, found.columns) };
  };
  const list = table(columns, { fetchPage, order: [[1, "desc"]], caption: "rollouts", height: "65vh" });
  filter.element.addEventListener("submit", (event) => { event.preventDefault(); note(filter.params()); list.reload(false); });
  filter.element.addEventListener("reset", () => setTimeout(() => { note(filter.params()); list.reload(false); }));
  const steps = about.steps;
  const jump = make("form", { class: "choices", onsubmit: (event) => { event.preventDefault(); location.hash = to(["run", name, "step", event.target.elements.step.value]); } },
    make("label", {}, "step ", make("input", { name: "step", type: "number", min: (steps[0] ?? 0) + 1, max: (steps.at(-1) ?? 0) + 1, value: (steps.at(-1) ?? 0) + 1, required: true })),
    make("button", { type: "submit" }, "show groups"));
  const head = make("div", { class: "title" }, put(make("h1"), name), badge(me.state ?? ""));
  const held = about.held ? put(make("p", { class: "note" }), `This report has ${about.held}; the table has all ${count(me.rollouts ?? 0)} rollouts.`) : null;
  return {
    title: plain(name),
    trail: [[name, to(["run", name])]],
    element: make("div", {}, head, held, summary(me, about), chart.element,
      make("section", { "aria-label": "steps" }, make("h2", {}, "Steps"), steps.length ? jump : make("p", { class: "note" }, "no step is finished yet")),
      make("section", { "aria-label": "rollouts" }, make("h2", {}, "Rollouts"), filter.element, exports(name, filter), list.holder)),
    start() { list.start(); chart.redraw(); },
    stop() { list.stop(); },
    async refresh() {
      const fresh = await ask("run", { run: name });
      steps.splice(0, steps.length, ...fresh.steps);
      const box = jump.elements.step;
      if (steps.length) { const last = box.value === box.max; box.max = steps.at(-1) + 1; if (last) box.value = box.max; }
      list.reload();
      await chart.redraw();
      return "";
    },
  };
}

function summary(me, about) {
  const known = facts([["method", me.method], ["world", me.world], ["model", me.model], ["seed", me.seed], ["steps", count(me.steps ?? 0)], ["rollouts", count(me.rollouts ?? 0)], ["started (UTC)", when(me.started)], ["command", about.command],
    ["channels without spread within groups", about.silent.join(", ")]]);
  const events = make("ul", {}, about.events.map((event) => put(make("li"), `${when(event.time)} ${event.kind} after ${event.step} steps ${event.text}`)));
  const settings = make("details", {}, make("summary", {}, "arguments and events"), events, jsonBlock(about.settings));
  const reward = about.reward ? make("details", {}, put(make("summary"), `reward: ${about.reward.name}`), block(about.reward.text || "No documentation: this reward is not part of handaxe.")) : null;
  return make("section", { "aria-label": "about this run" }, known, settings, reward);
}

function filters(about, params) {
  const choice = (label, name, values) => make("label", {}, `${label} `, make("select", { name }, make("option", { value: "" }, "any"), values.map(([value, shown]) => make("option", { value, selected: params.get(name) === value }, plain(shown)))));
  const box = (label, name, kind, more = {}) => make("label", {}, `${label} `, make("input", { name, type: kind, value: params.get(name) ?? "", ...more }));
  const status = make("p", { class: "note", "aria-live": "polite" });
  const element = make("form", { class: "choices", role: "search", "aria-label": "search rollouts" },
    box("text", "text", "search", { placeholder: "words or \"a phrase\"", maxlength: 1000 }),
    choice("tool called", "tool", about.tools.map((one) => [one, one])), box("task", "task", "search", { placeholder: "task id", maxlength: 1000 }),
    choice("outcome", "outcome", [...about.outcomes, "scored"].map((one) => [one, one.replaceAll("_", " ")])),
    choice("group", "fate", about.fates.map((one) => [one, one])),
    choice("in the loss", "trained", [["1", "yes"], ["0", "no"]]),
    box("score from", "low", "number", { step: "any" }), box("to", "high", "number", { step: "any" }),
    box("step from", "first", "number", { step: 1, min: 1 }), box("to step", "last", "number", { step: 1, min: 1 }),
    make("button", { type: "submit" }, "search"), make("button", { type: "reset" }, "all"), status);
  return {
    element,
    params: () => Object.fromEntries(FIELDS.map((name) => [name, element.elements[name].value])),
    query() { const found = this.params(); for (const name of ["first", "last"]) if (found[name] !== "") found[name] = String(found[name] - 1); return found; }, // steps of the record count from 0
    say(text) { status.textContent = plain(text, 300); },
  };
}

function exports(name, filter) {
  if (!LIVE) return make("p", { class: "note" }, "handaxe view exports the found rollouts to JSONL, datasets and Inspect.");
  const address = (kind) => `export/${kind}?${new URLSearchParams({ run: name, ...filter.query() })}`;
  const links = EXPORTS.map(([kind, label]) => make("a", { class: "button", href: address(kind), download: true, onclick: (event) => { event.currentTarget.href = address(kind); } }, label));
  return make("p", { class: "choices", "aria-label": "export" }, "export the found rollouts to ", links);
}
