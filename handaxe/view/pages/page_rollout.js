// Page of a rollout: turns with calls and replies, coloured tokens, forks and context folding, score.
import { ask } from "./source.js";
import { imageOf } from "./images.js";
import { note, to } from "./links.js";
import { classKind, reasonOf } from "./page_step.js";
import { COLOURINGS, exactly, legend, ranked, tokensOf } from "./tokens.js";
import { badge, block, count, facts, figure, jsonBlock, make, many, plain, put, seconds } from "./text.js";

const MEASURES = ["push", "advantage", "ratio", "logp", "entropy"];

export async function pageOfRollout(name, id, params) {
  const one = await ask("rollout", { run: name, id });
  const panel = make("div", { class: "panel", "aria-live": "polite" }, make("p", { class: "note" }, "Hover over or click a token, or use the arrow keys."));
  const state = { mover: -1, movers: [] };
  const look = lookAt(name, one);
  const tokens = tokensOf(one.sequences, (s, t, length, image) => {
    tell(panel, one, s, t, length, image);
    note({ ...own(), token: `${s}.${t}` });
  }, (digest, count, attributes) => look(digest, { tokens: count, ...attributes }));
  const colouring = make("select", { id: "colour" }, colourings(one).map(([value, label]) => make("option", { value, selected: value === (params.get("colour") ?? "author") }, label)));
  const key = make("div");
  const recolour = () => { const values = tokens.colour(colouring.value); key.replaceChildren(legend(one.sequences, colouring.value, values)); };
  const own = () => (colouring.value === "author" ? {} : { colour: colouring.value });
  colouring.addEventListener("change", () => { recolour(); const place = tokens.place(); note({ ...own(), token: place ? `${place.s}.${place.t}` : null }); });
  const turns = make("div", { class: "turns", id: "tokens", role: "group", tabindex: "0", "aria-label": "tokens: left and right select the next token, n and p a token of the ranking" }, turnsOf(one, tokens, look));
  const movers = moved(one, state, (place) => tokens.choose(place.s, place.t, turns));
  turns.addEventListener("click", (event) => { const span = event.target.closest("[data-token]"); if (span) tokens.choose(...span.dataset.token.split(".").map(Number), turns, false); });
  turns.addEventListener("mouseover", (event) => { const span = event.target.closest("[data-token]"); if (span) span.title = exactly(one.sequences, ...span.dataset.token.split(".").map(Number)).map(([label, value]) => `${label} ${value}`).join("\n"); });
  const jump = (step) => { if (!state.movers.length) return; state.mover = (state.mover + step + state.movers.length) % state.movers.length; const place = state.movers[state.mover]; tokens.choose(place.s, place.t, turns); };
  const keys = {
    ArrowRight: () => step(1), ArrowLeft: () => step(-1), n: () => jump(1), p: () => jump(-1),
    j: () => turnStep(1), k: () => turnStep(-1), c: () => { colouring.selectedIndex = (colouring.selectedIndex + 1) % colouring.options.length; colouring.dispatchEvent(new Event("change")); },
  };
  const step = (by) => { const place = tokens.walk(by); if (place) tokens.choose(place.s, place.t, turns); };
  const turnStep = (by) => {
    const place = tokens.place();
    const order = one.turns.map((turn) => ({ s: turn.sequence, t: turn.start }));
    const here = place ? order.findLastIndex((turn) => turn.s < place.s || (turn.s === place.s && turn.t <= place.t)) : -1;
    const next = order[Math.max(0, Math.min(order.length - 1, here + by))];
    if (next) tokens.choose(next.s, next.t, turns);
  };
  const link = (label, place, letter) => (place === null ? make("span", { class: "button off" }, label) : make("a", { class: "button", href: to(["run", name, "rollout", place], own()), "data-key": letter }, label));
  const head = make("div", { class: "title" }, put(make("h1"), `${one.task.id}, sample ${one.sample + 1}`),
    make("span", {}, link("previous", one.previous, "["), link("next", one.next, "]")));
  const aside = make("aside", { "aria-label": "about this rollout" }, section("Token", panel), section("Score", score(one, name)), section("Token ranking", movers), section(treeTitle(one), tree(name, one)), section("About", about(one)));
  return {
    title: `${plain(one.task.id)}, sample ${one.sample + 1}`,
    trail: [[name, to(["run", name])], [`step ${one.step + 1}`, to(["run", name, "step", one.step + 1])], [`rollout ${id}`, to(["run", name, "rollout", id])]],
    element: make("div", {}, head, make("div", { class: "beside" }, make("section", { "aria-label": "turns" }, make("div", { class: "choices sticky" }, make("label", {}, "colour tokens by ", colouring), key), turns, judged(one), asides(one, look)), aside)),
    start() { recolour(); const [s, t] = (params.get("token") ?? "").split(".").map(Number); if (params.get("token")) tokens.choose(s, t, turns); },
    stop() {}, keys,
    refresh: async () => "",
  };
}

function colourings(one) {
  const named = new Set(one.sequences.flatMap((row) => Object.keys(row)));
  const known = Object.entries(COLOURINGS).filter(([name]) => named.has(name) || name === "push");
  const more = [...named].filter((name) => !(name in COLOURINGS) && !["text", "id", "turn"].includes(name)).map((name) => [name, name.replaceAll("_", " ")]);
  return [...known, ...more];
}

function section(title, ...children) {
  return make("section", {}, make("h2", {}, title), children);
}

// look(digest, options): element of an image of the rollout, described by the call that it answers.
function lookAt(run, one) {
  const asked = new Map();
  for (const turn of one.turns) {
    for (const reply of turn.replies) {
      const call = turn.calls.find((found) => found.id === reply.call_id);
      for (const digest of reply.images) asked.set(digest, call ? `reply to ${call.name} ${JSON.stringify(call.arguments)}` : `reply of ${reply.name}`);
    }
  }
  return (digest, options = {}) => {
    const known = one.images[digest];
    return known ? imageOf(run, { digest, ...known }, { alt: asked.get(digest), ...options }) : make("span", { class: "mark", ...(options["data-token"] ? { "data-token": options["data-token"] } : {}) }, "unknown image");
  };
}

function tell(panel, one, s, t, length, image) {
  if (image) {
    const size = one.images[image] ? `${one.images[image].width}x${one.images[image].height}` : "";
    panel.replaceChildren(facts([["image", size], ["tokens", `${t} to ${t + length - 1} of sequence ${s}`], ["author", one.sequences[s].author[t]], ["digest", image]]));
    return;
  }
  const parts = [];
  for (let k = t; k < Math.min(t + length, one.sequences[s].id.length); k += 1) parts.push(facts(exactly(one.sequences, s, k)));
  panel.replaceChildren(...parts);
}

// --- turns -----------------------------------------------------------------------------------------------------------

// Token spans of a turn, sampled by the policy or given to it, in the order of the record.
function turnsOf(one, tokens, look) {
  const out = one.sequences.length > 1 ? [] : [make("h2", { class: "unseen" }, "Turns")];
  one.sequences.forEach((row, s) => {
    if (one.sequences.length > 1) {
      const fold = one.folds.find((found) => found.sequence === s);
      out.push(make("h2", { id: `sequence-${s}` }, fold ? `Sequence ${s}: memory folded before turn ${fold.turn ?? "?"}` : `Sequence ${s}`));
    }
    const written = (t) => row.author[t] === "policy" || row.author[t] === "forced";
    let first = 0;
    for (let t = 1; t <= row.id.length; t += 1) {
      if (t < row.id.length && written(t) === written(first) && (!written(t) || row.turn[t] === row.turn[first])) continue;
      out.push(stretchOf(one, tokens, look, s, first, t, written(first)));
      first = t;
    }
  });
  return out;
}

function stretchOf(one, tokens, look, s, first, last, written) {
  const k = one.sequences[s].turn[first];
  const turn = written ? one.turns[k] : null;
  const shared = one.branch && s === one.branch.sequence && first < one.branch.token;
  const spoke = [...new Set(one.sequences[s].author.slice(first, last))].join(", ");
  const name = turn?.role ? `${k}, ${turn.role}` : `${k}`;
  const title = make("div", { class: "title" }, put(make("h3"), written ? `Turn ${name}` : `Context: ${spoke}`), make("span", { class: "note" }, many(last - first, "token")),
    turn ? make("span", { class: "note" }, `${seconds(turn.seconds)}${turn.cost ? `, cost ${figure(turn.cost)}` : ""}`) : null,
    turn && turn.finish !== "stop" ? badge(`finish: ${turn.finish}`, "bad") : null, turn?.why && !one.why ? make("span", { class: "why" }, "no gradient: ", reasonOf(turn.why)) : null, shared ? badge(`shared up to token ${one.branch.token}`) : null);
  const parts = [title, tokens.stretch(s, first, last)];
  if (turn) parts.push(...turn.errors.map((error) => put(make("p", { class: "why" }), `malformed call: ${error}`)), calls(turn, look));
  return make("section", { class: written ? "turn written" : "turn", "data-turn": k, "aria-label": written ? `turn ${name}` : `context before turn ${k + 1}` }, parts);
}

function imagesOf(reply, look) {
  return reply.images.length ? make("div", { class: "images" }, reply.images.map((digest) => look(digest))) : null;
}

function calls(turn, look) {
  const made = turn.calls.map((call) => {
    const reply = turn.replies.find((found) => found.call_id === call.id);
    return make("div", { class: "call" },
      make("div", { class: "title" }, make("h4", {}, "call ", put(make("code"), call.name)), reply ? badge(reply.status, reply.status === "ok" ? "good" : "bad") : badge("no reply", "bad"), reply ? make("span", { class: "note" }, `${seconds(reply.seconds)}${reply.cost ? `, cost ${figure(reply.cost)}` : ""}`) : null),
      make("div", { class: "pair" }, make("div", {}, make("h5", {}, "arguments"), jsonBlock(call.arguments, 1000), call.cut ? look(call.cut.image, { box: call.cut.box, alt: `part that ${call.name} cut out` }) : null), reply ? make("div", {}, make("h5", {}, "reply"), block(reply.content, 1000, "pre"), imagesOf(reply, look)) : null));
  });
  const stray = turn.replies.filter((reply) => !turn.calls.some((call) => call.id === reply.call_id)).map((reply) => make("div", { class: "call" }, make("div", { class: "title" }, put(make("h4"), `reply of ${reply.name}`), badge(reply.status, reply.status === "ok" ? "good" : "bad")), block(reply.content, 1000, "pre"), imagesOf(reply, look)));
  return make("div", { class: "calls" }, made, stray);
}

function asides(one, look) {
  if (!one.asked.length) return null;
  return make("section", {}, make("h2", {}, "Auxiliary policies"), one.asked.map((other) => make("details", {}, put(make("summary"), `${other.by || "the policy"}, ${other.turns.length} turns`), other.messages.map((message) => make("div", { class: "turn" }, make("h4", {}, message.role), block(message.content, 1000), imagesOf(message, look))))));
}

function judged(one) {
  if (!one.judged.length) return null;
  return make("section", { id: "judged" }, make("h2", {}, "Questions to the judge"), one.judged.map((asked) => {
    const about = `turn ${asked.turn}${asked.criterion ? `, ${asked.criterion}` : ""}: `;
    const value = asked.value === null ? `no answer (${asked.failure})` : typeof asked.value === "number" ? figure(asked.value) : JSON.stringify(asked.value);
    const labels = Object.entries(asked.labels).map(([label, logp]) => `${label} ${logp === null ? "-" : figure(Math.exp(logp))}`).join(", ");
    const { read, written, seconds: taken, cost } = asked.spent;
    const spent = `${many(read, "token")} read, ${written} written, ${seconds(taken)}${cost ? `, cost ${figure(cost)}` : ""}${asked.cached ? "; known before" : ""}`;
    return make("details", {}, put(make("summary"), about + value), block(asked.question || "The question is not recorded.", 2000, "pre"), asked.text ? block(asked.text, 1000, "pre") : null, facts([["probabilities", labels], ["prompt", asked.prompt], ["answered by", asked.by.slice(0, 60)], ["spent", spent]]));
  }));
}

// --- beside the turns ------------------------------------------------------------------------------------------------

function score(one, name) {
  const why = one.why ? make("p", { class: "why" }, make("strong", {}, "no gradient: "), reasonOf(one.why), ". ", one.why.text) : null;
  const rows = one.channels.map((channel) => {
    const spread = channel.silent || channel.low === channel.high ? "equal for all siblings" : `siblings from ${figure(channel.low)} to ${figure(channel.high)}, mean ${figure(channel.mean)}`;
    const turns = channel.turns ? make("div", { class: "note" }, `by turn: ${channel.turns.map((value) => figure(value)).join(", ")}`) : null;
    return make("tr", {}, put(make("th", { scope: "row" }), channel.name || "turn rewards"), make("td", { class: "numeric" }, "value" in channel ? figure(channel.value) : "-"), make("td", {}, "value" in channel ? spread : null, turns));
  });
  const list = rows.length ? make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "channels" }, make("table", {}, make("caption", {}, "channels of the reward"), make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "channel"), make("th", { scope: "col" }, "value"), make("th", { scope: "col" }, "siblings"))), make("tbody", {}, rows))) : make("p", { class: "note" }, "The reward has no channels.");
  const reward = make("details", {}, make("summary", {}, "documentation of the reward"));
  reward.addEventListener("toggle", async () => {
    if (!reward.open || reward.children.length > 1) return;
    const { reward: found } = await ask("run", { run: name });
    reward.append(found ? put(make("p"), found.name) : "", block(found?.text || "No documentation: this reward is not part of handaxe.", 3000));
  });
  return make("div", {}, make("p", { class: "score" }, one.score === null ? "not scored" : figure(one.score)), make("p", {}, badge(one.class.replaceAll("_", " "), classKind(one.class)), badge(one.ending.reason ? `${one.ending.kind}: ${one.ending.reason.slice(0, 120)}` : one.ending.kind)), why, list, reward);
}

function moved(one, state, go) {
  const there = MEASURES.filter((by) => by === "push" ? one.sequences.some((row) => row.advantage) : one.sequences.some((row) => row[by]));
  const telling = there.find((name) => ranked(one.sequences, name, 1).length); // push is 0 everywhere for a greedy policy
  const by = make("select", { id: "moved" }, there.map((name) => make("option", { value: name, selected: name === telling }, COLOURINGS[name])));
  const list = make("ol", { class: "movers" });
  const fill = () => {
    state.movers = ranked(one.sequences, by.value);
    state.mover = -1;
    list.replaceChildren(...state.movers.map((place, k) => make("li", {}, make("button", { type: "button", onclick: () => { state.mover = k; go(place); } }, put(make("span", { class: "tok" }), textAt(one.sequences[place.s], place.t)), ` ${figure(place.value)}`))));
    if (!state.movers.length) list.replaceChildren(make("li", { class: "note" }, `none: the value is ${by.value === "ratio" ? 1 : 0} everywhere`));
  };
  by.addEventListener("change", fill);
  fill();
  return make("div", {}, make("label", {}, "by ", by), make("p", { class: "note" }, "n and p select the next and previous token."), list);
}

function textAt(row, t) {
  let at = 0;
  for (const [text, length] of row.text) { if (t < at + length) return text || "\u2205"; at += length; }
  return "";
}

function treeTitle(one) {
  return one.siblings.some((sibling) => sibling.branch || sibling.folds) ? "Forks and context folding" : "Siblings";
}

function tree(name, one) {
  const within = new Set(one.siblings.map((sibling) => sibling.id));
  const children = new Map();
  for (const sibling of one.siblings) {
    const parent = sibling.branch && within.has(sibling.branch.of) ? sibling.branch.of : null;
    children.set(parent, [...(children.get(parent) ?? []), sibling]);
  }
  const seen = new Set();
  const items = (parent) => (children.get(parent) ?? []).filter((sibling) => !seen.has(sibling.id)).map((sibling) => {
    seen.add(sibling.id);
    const here = sibling.id === one.id;
    const line = make("a", { href: to(["run", name, "rollout", sibling.id]), "aria-current": here ? "page" : null }, `rollout ${sibling.id}`);
    const fork = sibling.branch ? ` forks from ${sibling.branch.of === null ? plain(sibling.branch.trajectory, 40) : "it"} at token ${sibling.branch.token}` : "";
    const folds = Array.from({ length: sibling.folds }, (_, k) => make("li", {}, here ? make("button", { type: "button", class: "link", onclick: () => document.getElementById(`sequence-${k + 1}`)?.scrollIntoView({ block: "start" }) }, `sequence ${k + 1}, folded`) : make("span", { class: "note" }, `sequence ${k + 1}, folded`)));
    const inner = [...folds, ...items(sibling.id)];
    return make("li", {}, line, " ", make("span", { class: "score" }, sibling.score === null ? "-" : figure(sibling.score)), fork, sibling.why ? make("span", { class: "note" }, " (", reasonOf(sibling.why), ")") : null, inner.length ? make("ul", {}, inner) : null);
  });
  const list = make("ul", { class: "tree" }, items(null));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const links = [...list.querySelectorAll("a, button")];
    links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement) + step))].focus();
  });
  return make("nav", { "aria-label": "siblings" }, list);
}

function about(one) {
  const known = facts([["rollout", one.name], ["group", one.fate], ["in the loss", one.trained ? "yes" : "no"], ["turns", count(one.turns.length)], ["calls", count(one.used.calls)], ["tokens", count(one.used.tokens)], ["time", seconds(one.used.seconds)], ["cost", one.used.cost ? figure(one.used.cost) : ""], ["seed", one.seed],
    ["fork of", one.branch ? `${one.branch.trajectory}, at token ${one.branch.token}, before turn ${one.branch.turn}` : ""]]);
  const more = [["final environment report", one.env], ["notes of the rollout", one.notes], ["reference answer", one.task.answer], ["task metadata", one.task.metadata], ["offered tools", one.tools]]
    .filter(([, value]) => value !== null && (typeof value !== "object" || Object.keys(value).length))
    .map(([label, value]) => make("details", {}, make("summary", {}, label), typeof value === "string" ? block(value, 3000) : jsonBlock(value, 3000)));
  return make("div", {}, known, more);
}
