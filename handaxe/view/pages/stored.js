// Where the pages of a report get their answers: from the file itself, in which they stand compressed.
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

export async function ask(question, asked = {}) {
  if (question === "rows") return pageOf(asked);
  if (question === "bands") return (await kept("bands"))[`${asked.setting} ${asked.metric} ${asked.axis}`] ?? { runs: [], band: null };
  if (question === "step") return heldStep(asked.run, Number(asked.step)).then((found) => found.step);
  if (question === "attempt") return heldAttempt(asked.run, Number(asked.id));
  const found = await kept("run" in asked ? `${question}/${asked.run}` : question);
  if (found === null) throw new Error(`this report holds no ${question} of ${asked.run ?? "it"}`);
  return found;
}

async function heldStep(run, step) {
  const found = await kept(`step/${run}/${step}`);
  if (found) return found;
  const about = await kept(`run/${run}`);
  throw new Error(`this report does not hold step ${step} in full. It holds ${about.held}; handaxe view shows every step`);
}

async function heldAttempt(run, id) {
  const rows = await kept(`rows/${run}`);
  const place = rows.columns.indexOf("step");
  const row = rows.rows.find((one) => one[0] === id);
  if (!row) throw new Error(`there is no attempt ${id} in this run`);
  const found = await heldStep(run, row[place]);
  return found.attempts[id];
}

async function pageOf(asked) {
  const { columns, rows } = await kept(`rows/${asked.run}`);
  const at = (name) => columns.indexOf(name);
  let found = rows;
  for (const name of ["fate", "task", "trained"]) {
    if (asked[name]) found = found.filter((row) => String(row[at(name)]) === String(asked[name]));
  }
  if (asked.outcome) found = found.filter((row) => (asked.outcome === "scored" ? row[at("score")] !== null : row[at("outcome")] === asked.outcome));
  for (const [name, column, side] of [["low", "score", 1], ["high", "score", -1], ["first", "step", 1], ["last", "step", -1]]) {
    if (asked[name] !== undefined && asked[name] !== "" && asked[name] !== null) {
      found = found.filter((row) => row[at(column)] !== null && (row[at(column)] - Number(asked[name])) * side >= 0);
    }
  }
  if (asked.text || asked.tool) {
    const ids = await search(asked.run, found, at("step"), asked);
    found = found.filter((row) => ids.has(row[0]));
  }
  const by = at(asked.sort || "step");
  const sign = asked.falling === "1" ? -1 : 1;
  found = [...found].sort((a, b) => (a[by] === null) - (b[by] === null) || sign * ((a[by] > b[by]) - (a[by] < b[by])) || sign * (a[0] - b[0]));
  const start = Number(asked.start ?? 0);
  return { columns, total: rows.length, filtered: found.length, rows: found.slice(start, start + Number(asked.length ?? 100)) };
}

// The ids of what was said, every word or phrase of the question, and calls the tool: among the attempts held in full.
async function search(run, rows, place, asked) {
  const words = [...(asked.text ?? "").matchAll(/"([^"]+)"|([^\s"]+)/g)].map((found) => (found[1] ?? found[2]).toLowerCase());
  const ids = new Set();
  for (const step of new Set(rows.map((row) => row[place]))) {
    const found = await kept(`step/${run}/${step}`);
    for (const [id, one] of Object.entries(found?.attempts ?? {})) {
      const said = one.messages.flatMap((message) => [message.content, ...message.calls.flatMap((call) => [call.name, ...texts(call.arguments)])]).map((text) => text.toLowerCase());
      const written = words.every((word) => said.some((text) => text.includes(word)));
      const called = !asked.tool || one.turns.some((turn) => turn.calls.some((call) => call.name === asked.tool));
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
