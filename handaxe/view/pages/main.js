// Draws the page of the address, refreshes it during training, and handles keys.
import { LIVE, ask } from "./source.js";
import { read } from "./links.js";
import { pageOfRollout } from "./page_rollout.js";
import { pageOfResults } from "./page_results.js";
import { pageOfRun } from "./page_run.js";
import { pageOfRuns } from "./page_runs.js";
import { pageOfStep } from "./page_step.js";
import { make, put } from "./text.js";

const EVERY = 2000;
const place = document.getElementById("page");
const trail = document.getElementById("trail");
let shown = null;
let number = 0;
let seen = "";

// Changes when a run of the page writes data.
async function pulse() {
  const { parts } = read(location.hash);
  return JSON.stringify(await ask("pulse", parts[0] === "run" ? { run: parts[1] } : {}));
}

function pageOfAddress() {
  const { parts, params } = read(location.hash);
  if (parts[0] === "run" && parts[2] === "step") return pageOfStep(parts[1], Number(parts[3]) - 1);
  if (parts[0] === "run" && parts[2] === "rollout") return pageOfRollout(parts[1], Number(parts[3]), params);
  if (parts[0] === "run" && parts[1] !== undefined) return pageOfRun(parts[1], params);
  if (parts[0] === "results") return pageOfResults(parts[1]);
  return pageOfRuns();
}

async function show() {
  const mine = ++number;
  place.setAttribute("aria-busy", "true");
  let page;
  let asOf = "";
  try {
    if (LIVE) asOf = await pulse(); // before the page is requested: later writes then trigger a refresh
    page = await pageOfAddress();
  } catch (error) {
    page = { title: "not found", trail: [], element: make("div", {}, make("h1", {}, "This page cannot be shown"), put(make("p", { class: "why" }), error.message)), start() {}, stop() {}, refresh: async () => "again" };
  }
  if (mine !== number) return;
  shown?.stop();
  shown = page;
  seen = asOf;
  document.title = `${page.title} - handaxe`;
  trail.replaceChildren(make("li", {}, make("a", { href: "#/" }, "runs")), ...page.trail.map(([label, address]) => make("li", {}, put(make("a", { href: address }), label))));
  place.replaceChildren(page.element);
  window.scrollTo(0, 0);
  page.start();
  place.setAttribute("aria-busy", "false");
}

async function watch() {
  if (document.visibilityState === "visible" && shown) {
    const mine = number;
    try {
      const now = await pulse();
      document.body.classList.remove("gone");
      if (mine === number && now !== seen) {
        seen = now;
        if ((await shown.refresh()) === "again") await show();
      }
    } catch (error) { document.body.classList.toggle("gone", error instanceof TypeError); } // fetch raises TypeError without a server
  }
  setTimeout(watch, EVERY);
}

function typing(event) {
  return event.target.closest?.("input:not([type=checkbox]), select, textarea") || event.ctrlKey || event.metaKey || event.altKey;
}

document.addEventListener("keydown", (event) => {
  const help = document.getElementById("help");
  if (typing(event) || document.querySelector("dialog[open]")) return;
  const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (event.key === "?") help.showModal();
  else if (event.key === "/") document.querySelector("input[type=search]")?.focus();
  else if (event.key === "u") { const links = trail.querySelectorAll("a"); links[Math.max(0, links.length - 2)].click(); }
  else if (link) link.click();
  else if (shown?.keys?.[event.key] && !event.target.closest(".scroll, .dt-scroll-body, .plot")) shown.keys[event.key]();
  else return;
  event.preventDefault();
});

function theme(name) {
  const dark = name === "dark" || (name === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("dark", dark);
}
const choice = document.getElementById("theme");
try { choice.value = localStorage.getItem("handaxe-theme") ?? "auto"; } catch { /* a local file may have no storage */ }
choice.addEventListener("change", () => { try { localStorage.setItem("handaxe-theme", choice.value); } catch { /* as above */ } theme(choice.value); show(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { theme(choice.value); show(); });
document.getElementById("skip").addEventListener("click", () => place.focus());
document.getElementById("keys").addEventListener("click", () => document.getElementById("help").showModal());
theme(choice.value);
window.addEventListener("hashchange", show);
show().then(() => { if (LIVE) setTimeout(watch, EVERY); });
