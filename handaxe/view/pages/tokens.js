// Tokens of a rollout, coloured by a chosen value, with exact values of the selected token.
import { count, figure, make, put } from "./text.js";

export const COLOURINGS = {
  author: "author", trains: "mask: in the loss", gradient: "gradient: nonzero", advantage: "advantage", push: "push: advantage x (1 - probability)",
  logp: "log-prob", ratio: "ratio: old policy / behaviour policy", entropy: "entropy", version: "version of the weights",
};
const SIGNED = new Set(["advantage", "push", "return"]);
const SHOWN = 1500;
const CHUNK = 5000;

// A value of every token: {at(s, t), least, most}; null if undefined for a token.
function valuesOf(sequences, by) {
  const at = (s, t) => {
    const row = sequences[s];
    if (by === "push") return row.advantage?.[t] == null || row.logp[t] == null ? null : row.advantage[t] * (1 - Math.exp(row.logp[t]));
    return row[by]?.[t] ?? null;
  };
  let least = Infinity;
  let most = -Infinity;
  sequences.forEach((row, s) => row.id.forEach((_, t) => {
    const value = at(s, t);
    if (typeof value === "number") { least = Math.min(least, value); most = Math.max(most, value); }
  }));
  return { at, least, most };
}

function shade(values, by, value) {
  if (value === null) return "";
  if (by === "author") return `a-${value}`;
  if (by === "trains" || typeof value === "boolean") return value ? "p3" : "";
  if (by === "version") return values.most > values.least ? `s${Math.round((5 * (value - values.least)) / (values.most - values.least))}` : "s2";
  if (by === "ratio") { const size = Math.log(value) / Math.max(Math.abs(Math.log(values.least)), Math.abs(Math.log(values.most)), 1e-6); return signed(size); }
  if (SIGNED.has(by)) return signed(value / Math.max(Math.abs(values.least), Math.abs(values.most), 1e-12));
  const share = values.most > values.least ? (value - values.least) / (values.most - values.least) : 0.5;
  return `s${Math.round(5 * (by === "logp" || by.endsWith("logp") ? 1 - share : share))}`;
}

function signed(share) {
  const depth = Math.ceil(Math.min(Math.abs(share), 1) * 5 - 1e-9);
  return Math.abs(share) < 1e-9 || !depth ? "" : share > 0 ? `p${depth}` : `n${depth}`;
}

// Tokens ranked by the size of a value.
export function ranked(sequences, by, most = 20) {
  const { at } = valuesOf(sequences, by);
  const found = [];
  sequences.forEach((row, s) => row.id.forEach((_, t) => {
    const value = at(s, t);
    const size = typeof value !== "number" ? 0 : by === "ratio" ? Math.abs(Math.log(value)) : Math.abs(value);
    if (size > 1e-9) found.push({ s, t, value, size });
  }));
  return found.sort((a, b) => b.size - a.size).slice(0, most);
}

// imageOf(digest, tokens, attributes) makes the element of an image.
export function tokensOf(sequences, onChoose, imageOf = null) {
  const starts = sequences.map((row) => { let at = 0; return row.text.map(([, length]) => { const place = at; at += length; return place; }); });
  const spans = new Map();
  let by = "author";
  let values = valuesOf(sequences, by);
  let chosen = null;
  const key = (s, t) => `${s}.${t}`;
  const pieceAt = (s, t) => { let low = 0; let high = starts[s].length - 1; while (low < high) { const middle = (low + high + 1) >> 1; if (starts[s][middle] <= t) low = middle; else high = middle - 1; } return low; };

  function paint(span, s, t) {
    span.className = `${sequences[s].text[pieceAt(s, t)][2] ? "image " : ""}tok ${shade(values, by, values.at(s, t))}${chosen && chosen.s === s && chosen.t === t ? " chosen" : ""}`;
  }
  function span(s, k) {
    const t = starts[s][k];
    const [text, length, image] = sequences[s].text[k];
    const made = image ? imageOf(image, length, { "data-token": key(s, t) }) : put(make("span", { "data-token": key(s, t) }), text);
    if (!made.hasChildNodes()) made.append("\u2205");
    paint(made, s, t);
    spans.set(key(s, t), made);
    return made;
  }
  // Tokens [first, last) of a sequence; a button shows more.
  function stretch(s, first, last) {
    const made = make("div", { class: "tokens text", dir: "ltr", "data-first": first, "data-last": last, "data-sequence": s });
    let next = pieceAt(s, first);
    const stop = last > first ? pieceAt(s, last - 1) + 1 : next;
    const more = make("button", { type: "button", class: "more" });
    const grow = (length) => {
      more.remove();
      const part = document.createDocumentFragment();
      for (const end = Math.min(stop, next + length); next < end; next += 1) part.append(span(s, next));
      made.append(part);
      if (next < stop) { more.textContent = `show ${count(Math.min(CHUNK, stop - next))} more of ${count(stop - next)} tokens`; made.append(more); }
    };
    more.addEventListener("click", () => grow(CHUNK));
    made.until = (t) => { while (next < stop && starts[s][next] <= t) grow(CHUNK); };
    if (stop > next) grow(SHOWN);
    return made;
  }
  function colour(name) {
    by = name;
    values = valuesOf(sequences, by);
    for (const [place, one] of spans) paint(one, ...place.split(".").map(Number));
    return values;
  }
  function choose(s, t, root, scroll = true) {
    if (!sequences[s] || t < 0 || t >= sequences[s].id.length) return false;
    const first = starts[s][pieceAt(s, t)];
    for (const holder of root.querySelectorAll(`.tokens[data-sequence="${s}"]`)) {
      if (Number(holder.dataset.first) <= first && first < Number(holder.dataset.last)) {
        for (let outer = holder.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
        holder.until(first);
      }
    }
    const before = chosen;
    chosen = { s, t: first };
    if (before) { const old = spans.get(key(before.s, before.t)); if (old) paint(old, before.s, before.t); }
    const one = spans.get(key(s, first));
    if (one) { paint(one, s, first); if (scroll) one.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" }); }
    onChoose(s, first, ...sequences[s].text[pieceAt(s, t)].slice(1));
    return true;
  }
  const walk = (step) => {
    const s = chosen?.s ?? 0;
    const k = (chosen ? pieceAt(s, chosen.t) : -1) + step;
    if (k >= 0 && k < starts[s].length) return { s, t: starts[s][k] };
    return sequences[s + step] ? { s: s + step, t: step > 0 ? 0 : starts[s + step].at(-1) } : null;
  };
  return { stretch, colour, choose, walk, place: () => chosen, by: () => by };
}

// All exact values of a token.
export function exactly(sequences, s, t) {
  const row = sequences[s];
  const pairs = [["place", `sequence ${s}, token ${t}`], ["id", row.id[t] ?? "of an image"], ["author", row.author[t]], ["turn", row.turn[t] < 0 ? "before the first" : row.turn[t]], ["in the loss", row.trains[t] ? "yes" : "no"], ["gradient", row.gradient[t] ? "yes" : "no"]];
  for (const [name, values] of Object.entries(row)) {
    if (["text", "id", "author", "turn", "trains", "gradient"].includes(name) || values[t] === null || values[t] === undefined) continue;
    pairs.push([COLOURINGS[name] ? name : name.replaceAll("_", " "), String(values[t])]);
  }
  if (row.logp[t] !== null) pairs.push(["probability", String(Math.exp(row.logp[t]))]);
  const push = valuesAt(row, t);
  if (push !== null) pairs.push(["push", String(push)]);
  return pairs;
}

function valuesAt(row, t) {
  return row.advantage?.[t] == null || row.logp[t] == null ? null : row.advantage[t] * (1 - Math.exp(row.logp[t]));
}

export function legend(sequences, by, values) {
  const element = make("p", { class: "legend", "aria-label": "legend" });
  if (by === "author") {
    for (const name of [...new Set(sequences.flatMap((row) => [...new Set(row.author)]))]) element.append(make("span", { class: `tok a-${name}` }, name), " ");
  } else if (by === "trains" || by === "gradient") element.append(make("span", { class: "tok p3" }, by === "trains" ? "in the loss" : "gradient"), " ", make("span", { class: "tok" }, "none"));
  else if (values.most < values.least) element.append("undefined for all tokens");
  else if (SIGNED.has(by) || by === "ratio") {
    const middle = by === "ratio" ? 1 : 0;
    const coloured = (value) => make("span", { class: `tok ${value < middle ? "n4" : value > middle ? "p4" : ""}` }, figure(value));
    element.append(coloured(values.least), " to ", coloured(values.most), `, ${middle} without colour`);
  } else { const down = by.endsWith("logp"); element.append(make("span", { class: `tok ${down ? "s5" : "s0"}` }, figure(values.least)), " to ", make("span", { class: `tok ${down ? "s0" : "s5"}` }, figure(values.most))); }
  return element;
}
