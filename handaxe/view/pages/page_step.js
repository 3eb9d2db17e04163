// The page of a step: its groups, siblings side by side. Steps and samples count from 1 on pages and in addresses, from 0 in the record.
import { ask } from "./source.js";
import { to } from "./links.js";
import { badge, block, count, figure, jsonBlock, make, many, plain, put, seconds } from "./text.js";

export async function pageOfStep(name, step) {
  const found = await ask("step", { run: name, step });
  const link = (label, place, key) => (place === null ? make("span", { class: "button off" }, label) : make("a", { class: "button", href: to(["run", name, "step", place + 1]), "data-key": key }, label));
  const rows = found.groups.flatMap((group) => group.siblings);
  const without = rows.filter((one) => one.why).length;
  const head = make("div", { class: "title" }, make("h1", {}, `Step ${found.step + 1}`), make("span", {}, link("previous", found.previous, "["), link("next", found.next, "]")));
  const summary = make("p", { class: "note" }, `${many(found.groups.length, "group")}, ${many(rows.length, "rollout")}, ${count(without)} without a gradient`);
  const only = make("input", { type: "checkbox", id: "only" });
  const groups = make("div", {}, found.groups.map((group) => groupOf(name, group)));
  only.addEventListener("change", () => groups.classList.toggle("varied", only.checked));
  return {
    title: `${plain(name)}, step ${found.step + 1}`,
    trail: [[name, to(["run", name])], [`step ${found.step + 1}`, to(["run", name, "step", found.step + 1])]],
    element: make("div", {}, head, summary, make("p", { class: "choices" }, make("label", {}, only, " only groups whose scores differ")), groups),
    start() {}, stop() {},
    refresh: async () => (found.next === null ? "again" : ""),
  };
}

function groupOf(name, group) {
  const scores = group.siblings.map((one) => one.score).filter((value) => value !== null);
  const equal = scores.length < 2 || Math.max(...scores) === Math.min(...scores);
  const head = make("div", { class: "title" }, put(make("h2"), group.task), badge(group.fate, group.fate === "trained" ? "good" : "bad"), group.part ? badge(`part ${group.part}`) : null);
  const question = make("div", { class: "question" }, block(group.question, 600));
  const answer = group.answer === null ? null : make("details", {}, make("summary", {}, "reference answer"), typeof group.answer === "string" ? block(group.answer, 600) : jsonBlock(group.answer, 600));
  return make("section", { class: equal ? "group equal" : "group", "aria-label": `task ${plain(group.task)}` }, head, question, answer,
    make("div", { class: "cards" }, group.siblings.map((one) => card(name, one))));
}

function card(name, one) {
  const address = to(["run", name, "rollout", one.id]);
  const score = make("span", { class: "score" }, one.score === null ? "no score" : figure(one.score));
  const channels = make("dl", { class: "channels" }, one.channels.filter((channel) => "value" in channel).map((channel) => make("div", {}, put(make("dt"), channel.name), make("dd", {}, figure(channel.value)))));
  const calls = one.calls.map((call, k) => badge(call, one.statuses[k] === undefined || one.statuses[k] === "ok" ? "" : "bad"));
  const advantage = one.advantage === null ? "-" : one.advantage[0] === one.advantage[1] ? figure(one.advantage[0]) : `${figure(one.advantage[0])} to ${figure(one.advantage[1])}`;
  return make("article", { class: "card", "aria-label": `rollout ${one.id}` },
    make("div", { class: "title" }, make("h3", {}, make("a", { href: address }, `rollout ${one.id}`)), score),
    make("p", {}, badge(one.class.replaceAll("_", " "), classKind(one.class)), one.reason ? badge(one.reason.slice(0, 60)) : null, badge(`sample ${one.sample + 1}`), one.branch ? badge(`fork at token ${one.branch.token}`) : null, one.folds ? badge(many(one.folds, "folding")) : null),
    one.why ? make("p", { class: "why" }, make("strong", {}, "no gradient: "), reasonOf(one.why)) : make("p", { class: "note" }, `advantage ${advantage}`),
    channels, calls.length ? make("p", {}, "calls ", calls) : null,
    block(one.final || "(no text)", 300), make("p", { class: "note" }, `${many(one.turns, "turn")}, ${many(one.tokens, "token")}, ${seconds(one.seconds)}${one.cost ? `, cost ${figure(one.cost)}` : ""}`));
}

// Reason for a missing gradient: kind, selector, and a sentence as tooltip.
export function reasonOf(why) {
  const by = why.by ? ` (by ${why.by})` : "";
  return put(make("span", { title: why.text }), `${why.kind.replaceAll("_", " ")}${by}`);
}

export function classKind(name) {
  return name === "correct" ? "good" : ["truncated", "policy_error", "infra_error", "verifier_error"].includes(name) ? "bad" : "";
}
