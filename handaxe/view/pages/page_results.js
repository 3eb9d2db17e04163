// Page of results: replications and comparisons. A result of format 1 has the names of version 0.1.
import { ask } from "./source.js";
import { draw } from "./chart.js";
import { to } from "./links.js";
import { badge, facts, figure, jsonBlock, make, plain, put } from "./text.js";

export async function pageOfResults(which) {
  const found = await ask("results");
  const one = which === undefined ? null : found.find((result) => result.name === which);
  if (which !== undefined && !one) throw new Error(`there is no result ${plain(which)} here`);
  const charts = [];
  const element = one ? (one.kind === "damaged" ? damaged(one) : one.kind === "replication" ? replication(one, charts) : comparison(one)) : listOf(found);
  const trail = [["results", "#/results"]];
  if (one) trail.push([one.name, to(["results", one.name])]);
  return { title: one ? plain(one.name) : "results", trail, element, start() { charts.forEach((start) => start()); }, stop() {}, refresh: async () => "" };
}

function listOf(found) {
  const rows = found.map(({ name, kind, body }) => {
    if (kind === "damaged") return make("tr", {}, make("th", { scope: "row" }, put(make("a", { href: to(["results", name]) }), name)), make("td", {}, badge(kind, "bad")), put(make("td"), body), make("td"));
    const verdicts = kind === "replication" ? body.claims.map((claim) => badge(claim.decision.verdict, kindOf(claim.decision.verdict))) : [plain(Object.keys(body.sides).join(" against "))];
    return make("tr", {}, make("th", { scope: "row" }, put(make("a", { href: to(["results", name]) }), kind === "replication" ? body.method ?? body.recipe : name)), make("td", {}, kind), make("td", {}, verdicts), make("td", { class: "numeric" }, figure(body.seeds.length)));
  });
  const head = make("tr", {}, ["result", "kind", "verdicts", "seeds"].map((title) => make("th", { scope: "col", class: title === "seeds" ? "numeric" : null }, title)));
  return make("div", {}, make("h1", {}, "Results"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "results" }, make("table", {}, make("caption", {}, "replications and comparisons"), make("thead", {}, head), make("tbody", {}, rows))));
}

function kindOf(verdict) {
  return verdict === "holds" ? "good" : verdict === "reversed" || verdict === "does not hold" ? "bad" : "";
}

function damaged({ name, body }) {
  return make("div", {}, put(make("h1"), name), make("p", {}, badge("damaged", "bad")), put(make("p", { class: "why" }), body));
}

function replication({ body }, charts) {
  const claims = body.claims.map(({ claim, decision, baseline, figures, control = figures?.control }) => make("section", { class: "group" },
    make("div", { class: "title" }, put(make("h2"), claim.text ?? claim.statement), badge(decision.verdict, kindOf(decision.verdict))),
    decision.why ? put(make("p"), decision.why) : null,
    facts([["metric", `${claim.metric} (${claim.over}), ${claim.direction}`], ["baseline", baseline], ["difference", `${figure(decision.paired.difference)} [${figure(decision.paired.low)}, ${figure(decision.paired.high)}]`],
      keptEqual(claim, decision), ["note", claim.note]]),
    pairs(body.seeds, decision.paired, body.method ?? body.recipe, baseline), control ? make("details", {}, make("summary", {}, "permuted-reward control"), jsonBlock(control)) : null));
  const curvesOf = Object.entries(body.curves).map(([metric, sides]) => {
    const holder = make("div", { class: "chart" });
    charts.push(() => draw(holder, { bands: Object.entries(sides).map(([name, curve]) => ({ name, x: curve.steps, mean: curve.mean, low: curve.low, high: curve.high })), x: "steps", y: metric }).catch((error) => holder.replaceChildren(error.message)));
    return make("section", {}, put(make("h2"), metric), holder);
  });
  return make("div", {}, put(make("h1"), body.method ?? body.recipe), facts([["command", body.command], ["version", body.version], ["seeds", body.seeds.join(", ")]]), claims, curvesOf, make("details", {}, make("summary", {}, "file"), jsonBlock(body, 5000)));
}

// The metric that a claim keeps equal, with its difference.
function keptEqual(claim, decision) {
  const kept = decision.kept ?? decision.same;
  return [claim.keeps || claim.same || "kept equal", kept ? `${figure(kept.difference)} [${figure(kept.low)}, ${figure(kept.high)}]` : ""];
}

function pairs(seeds, paired, ours, theirs) {
  const rows = paired.ours.map((value, k) => make("tr", {}, make("td", { class: "numeric" }, figure(seeds[k])), make("td", { class: "numeric" }, figure(value)), make("td", { class: "numeric" }, figure(paired.theirs[k]))));
  return make("details", {}, make("summary", {}, "by pair"), make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "seed"), put(make("th", { scope: "col" }), ours), put(make("th", { scope: "col" }), theirs))), make("tbody", {}, rows)));
}

function comparison({ name, body }) {
  const tables = Object.entries(body.metrics).map(([metric, sides]) => {
    const rows = Object.entries(sides).map(([side, one]) => make("tr", {}, put(make("th", { scope: "row" }), side), make("td", { class: "numeric" }, figure(mean(one.ours))), make("td", { class: "numeric" }, figure(one.difference)), make("td", { class: "numeric" }, `[${figure(one.low)}, ${figure(one.high)}]`)));
    return make("section", {}, put(make("h2"), metric), make("table", {}, make("thead", {}, make("tr", {}, ["side", "mean", "difference from the first side", "95 % interval"].map((title, k) => make("th", { scope: "col", class: k ? "numeric" : null }, title)))), make("tbody", {}, rows)));
  });
  return make("div", {}, put(make("h1"), name), facts([["seeds", body.seeds.join(", ")]]), tables, make("details", {}, make("summary", {}, "file"), jsonBlock(body, 5000)));
}

function mean(values) {
  const there = (values ?? []).filter((value) => value !== null);
  return there.length ? there.reduce((sum, value) => sum + value, 0) / there.length : null;
}
