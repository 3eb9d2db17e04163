// Page of a conversation with a policy. Text of policies and tools becomes text nodes only (text.js).

import { block, make, put } from "./text.js";

const token = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
const log = document.getElementById("log");
const form = document.getElementById("form");
const question = document.getElementById("question");
const page = document.getElementById("page");

function post(path, body) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return fetch(`api/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

function add(kind, who, ...children) {
  const made = make("div", { class: `said ${kind}` }, make("span", { class: "who" }, who), ...children);
  log.append(made);
  made.scrollIntoView({ block: "end" });
  return made;
}

function note(text) {
  add("failed", "", block(text));
}

// One turn of the policy: grows with pieces of text; `finish` adds the text that was held back.
function turn() {
  let element = null, shown = "";
  return {
    grow(text) {
      if (!text) return;
      if (!element) { element = make("span", { dir: "ltr" }); add("policy", "policy", element); }
      put(element, text);
      shown += text;
      page.scrollIntoView({ block: "end" });
    },
    finish(whole) {
      if (whole.startsWith(shown)) this.grow(shown ? whole.slice(shown.length) : whole.trimStart());
    },
  };
}

const endings = { turns: "truncated: the answer reached the limit of turns", length: "truncated: the turn or the context is full" };

function show(event, state) {
  if (event.text !== undefined) state.turn.grow(event.text);
  if (event.calls) {
    if (event.whole.trim()) state.turn.finish(event.whole);
    state.turn = turn();
    for (const call of event.calls) add("tool call", "call", block(`${call.name}(${call.arguments})`));
    for (const error of event.malformed) add("tool failed", "malformed call", block(error));
  }
  for (const reply of event.replies ?? []) {
    add(reply.status === "ok" ? "tool reply" : "tool reply failed", `reply: ${reply.status}`, block(reply.content));
  }
  if (event.answer !== undefined) {
    state.turn.finish(event.answer);
    if (event.ending !== "completed") note(endings[event.reason] ?? `${event.ending}: ${event.reason}`);
  }
  if (event.error !== undefined) note(`error: ${event.error}`);
}

async function ask(text) {
  add("user", "you", block(text));
  page.setAttribute("aria-busy", "true");
  try {
    const reply = await post("ask", { question: text });
    if (!reply.ok) { note((await reply.json()).error); return; }
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    const state = { turn: turn() };
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) show(JSON.parse(line), state);
    }
  } catch (error) {
    note(`no connection to the server: ${error.message}`);
  } finally {
    page.setAttribute("aria-busy", "false");
    question.focus();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = question.value.trim();
  if (!text || page.getAttribute("aria-busy") === "true") return;
  question.value = "";
  ask(text);
});
question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
});

async function begin() {
  const reply = await post("new", {});
  const body = await reply.json();
  if (!reply.ok) { note(body.error); return; }
  log.replaceChildren();
  const title = document.getElementById("title");
  title.replaceChildren();
  put(title, body.title);
}
document.getElementById("new").addEventListener("click", begin);
begin();
