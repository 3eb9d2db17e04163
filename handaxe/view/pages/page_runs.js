// Page of all runs: a table of runs, and the curves of the selected runs.
import { ask } from "./source.js";
import { curves } from "./chart.js";
import { to } from "./links.js";
import { table } from "./table.js";
import { badge, figure, make, many, plain, put, when } from "./text.js";

// Names and errors of the runs that cannot be read.
function damage(runs) {
  const rows = runs.map(({ name, error }) => make("tr", {}, put(make("th", { scope: "row" }), name), put(make("td"), error)));
  const head = make("tr", {}, ["run", "error"].map((title) => make("th", { scope: "col" }, title)));
  return make("section", { class: "damaged" }, make("h2", {}, many(runs.length, "damaged run")), make("table", {}, make("thead", {}, head), make("tbody", {}, rows)));
}

export async function pageOfRuns() {
  const found = await ask("runs");
  const results = await ask("results").catch(() => []);
  const chosen = new Set(found.runs.slice(0, 4).map((run) => run.name));
  const chart = curves(() => found.runs.filter((run) => chosen.has(run.name)), { axes: found.axes });
  const choose = (name, row) => {
    const box = make("input", { type: "checkbox", "aria-label": `draw ${plain(name)}` });
    box.checked = chosen.has(name);
    box.addEventListener("change", () => { if (box.checked) chosen.add(name); else chosen.delete(name); chart.redraw(); });
    return box;
  };
  const columns = [
    { title: "draw", show: choose, sortable: false },
    { title: "run", show: (name) => put(make("a", { href: to(["run", name]) }), name) },
    { title: "method" }, { title: "world" }, { title: "model" },
    { title: "seed", numeric: true, show: (value) => figure(value) },
    { title: "steps", numeric: true, show: (value) => figure(value) },
    { title: "rollouts", numeric: true, show: (value) => figure(value) },
    { title: "reward", numeric: true, show: (value) => figure(value) },
    { title: "calls", numeric: true, show: (value) => figure(value) },
    { title: "tokens", numeric: true, show: (value) => figure(value) },
    { title: "pass@1", numeric: true, show: (value) => figure(value) },
    { title: "state", show: (value) => badge(value, value === "finished" ? "good" : value === "failed" ? "bad" : "") },
    { title: "last change (UTC)", show: (value) => when(value) },
  ];
  const rowsOf = (runs) => runs.map((run) => [
    run.name, run.name, run.method, run.world, run.model, run.seed, run.steps, run.rollouts, run.figures["training/reward"],
    run.figures["training/calls"], run.figures["training/tokens"], run.figures["pass@1"], run.state, run.changed,
  ]);
  const list = table(columns, { rows: rowsOf(found.runs), order: [[1, "asc"]], caption: `runs in ${plain(found.folder)}` });
  const head = make("div", { class: "title" }, make("h1", {}, "Runs"), results.length ? make("a", { class: "button", href: "#/results" }, `${many(results.length, "result")} of replications and comparisons`) : null);
  const damaged = make("div");
  const listDamaged = (runs) => damaged.replaceChildren(...(runs.length ? [damage(runs)] : []));
  listDamaged(found.damaged);
  const empty = found.runs.length || found.damaged.length ? null : make("p", { class: "note" }, "This folder has no run yet; handaxe train makes one.");
  return {
    title: plain(found.folder),
    trail: [],
    element: make("div", {}, head, empty, found.runs.length ? [chart.element, list.holder] : [], damaged),
    start() { if (found.runs.length) { list.start(); chart.redraw(); } },
    stop() { list.stop(); },
    async refresh() {
      const fresh = await ask("runs");
      const grown = fresh.runs.length !== found.runs.length;
      found.runs = fresh.runs;
      listDamaged(fresh.damaged);
      if (grown && !list.made) return "again";
      if (!list.made) return "";
      list.made.clear().rows.add(rowsOf(fresh.runs)).draw(false);
      await chart.redraw();
      return "";
    },
  };
}
