// Data source of the pages of a report: compressed data in the file itself.
export const LIVE = false;
const KEPT = new Map();

async function kept(key) {
  if (!KEPT.has(key)) KEPT.set(key, unpack(key));
  return KEPT.get(key);
}

async function unpack(key) {
  const place = document.getElementById(`data:${key}`);
  if (!place) return null;
  const bytes = Uint8Array.from(atob(place.textContent.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// Address of the bytes of an image; null if they are not here.
export async function imageAddress(run, digest) {
  return document.getElementById(`data:image/${run}/${digest}`)?.textContent ?? null;
}

export async function ask(question, params = {}) {
  if (question === "rows") return pageOf(params);
  if (question === "bands") return (await kept("bands"))[`${params.setting} ${params.metric} ${params.axis}`] ?? { runs: [], band: null };
  if (question === "step") return heldStep(params.run, Number(params.step)).then((found) => found.step);
  if (question === "rollout") return heldRollout(params.run, Number(params.id));
  const found = await kept("run" in params ? `${question}/${params.run}` : question);
  if (found === null) throw new Error(`this report has no ${question} of ${params.run ?? "the folder"}`);
  return found;
}

async function heldStep(run, step) {
  const found = await kept(`step/${run}/${step}`);
  if (found) return found;
  const about = await kept(`run/${run}`);
  throw new Error(`this report does not have step ${step + 1} in full. It has ${about.held}; handaxe view shows every step`);
}

async function heldRollout(run, id) {
  const rows = await kept(`rows/${run}`);
  const place = rows.columns.indexOf("step");
  const row = rows.rows.find((one) => one[0] === id);
  if (!row) throw new Error(`there is no rollout ${id} in this run`);
  const found = await heldStep(run, row[place]);
  return found.rollouts[id];
}

async function pageOf(params) {
  const { columns, rows } = await kept(`rows/${params.run}`);
  const at = (name) => columns.indexOf(name);
  let found = rows;
  for (const name of ["fate", "task", "trained"]) {
    if (params[name]) found = found.filter((row) => String(row[at(name)]) === String(params[name]));
  }
  if (params.outcome) found = found.filter((row) => (params.outcome === "scored" ? row[at("score")] !== null : row[at("outcome")] === params.outcome));
  for (const [name, column, side] of [["low", "score", 1], ["high", "score", -1], ["first", "step", 1], ["last", "step", -1]]) {
    if (params[name] !== undefined && params[name] !== "" && params[name] !== null) {
      found = found.filter((row) => row[at(column)] !== null && (row[at(column)] - Number(params[name])) * side >= 0);
    }
  }
  if (params.text || params.tool) {
    const ids = await search(params.run, found, at("step"), params);
    found = found.filter((row) => ids.has(row[0]));
  }
  const by = at(params.sort || "step");
  const sign = params.falling === "1" ? -1 : 1;
  found = [...found].sort((a, b) => (a[by] === null) - (b[by] === null) || sign * ((a[by] > b[by]) - (a[by] < b[by])) || sign * (a[0] - b[0]));
  const start = Number(params.start ?? 0);
  return { columns, total: rows.length, filtered: found.length, rows: found.slice(start, start + Number(params.length ?? 100)) };
}

// Ids of the rollouts that contain every word or phrase and call the tool, among the rollouts stored in full.
async function search(run, rows, place, params) {
  const words = [...(params.text ?? "").matchAll(/"([^"]+)"|([^\s"]+)/g)].map((found) => (found[1] ?? found[2]).toLowerCase());
  const ids = new Set();
  for (const step of new Set(rows.map((row) => row[place]))) {
    const found = await kept(`step/${run}/${step}`);
    for (const [id, one] of Object.entries(found?.rollouts ?? {})) {
      const contents = one.messages.flatMap((message) => [message.content, ...message.calls.flatMap((call) => [call.name, ...texts(call.arguments)])]).map((text) => text.toLowerCase());
      const written = words.every((word) => contents.some((text) => text.includes(word)));
      const called = !params.tool || one.turns.some((turn) => turn.calls.some((call) => call.name === params.tool));
      if (written && called) ids.add(Number(id));
    }
  }
  return ids;
}

function texts(value) {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object") return [typeof value === "string" ? value : JSON.stringify(value)];
  return Array.isArray(value) ? value.flatMap(texts) : Object.entries(value).flatMap(([name, item]) => [name, ...texts(item)]);
}
