// Charts of runs by Plotly, each with a table of the same figures.
import { LIVE, ask } from "./source.js";
import { figure, make, plain } from "./text.js";

const COLOURS = ["#1f77b4", "#d1495b", "#2a9d5c", "#8d5bd0", "#b8860b", "#0f8b8d", "#c2577d", "#6b7280"];
const DASHES = ["solid", "dash", "dot", "dashdot"];

// The library is large and loaded for the first chart; a report contains it.
function library() {
  if (globalThis.Plotly || !LIVE) return Promise.resolve(globalThis.Plotly);
  return new Promise((done, fail) => {
    const script = make("script", { src: "lib/plotly.min.js" });
    script.addEventListener("load", () => done(globalThis.Plotly));
    script.addEventListener("error", () => fail(new Error("the chart library could not be loaded")));
    document.head.append(script);
  });
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function layout(x, y, few) {
  const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line"), automargin: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("--fg"), family: "inherit", size: 13 },
    margin: { l: 50, r: 12, t: 12, b: 40 }, showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, hovermode: "x unified",
    uirevision: `${x} ${y}`, // keeps a zoom when new steps arrive
    hoverlabel: { bgcolor: colour("--raised"), font: { color: colour("--fg") } },
    xaxis: { ...axis, ...(few ? { dtick: 1 } : {}), title: { text: label(x) } }, yaxis: { ...axis, title: { text: label(y) } },
  };
}

// Escapes names: Plotly reads markup.
function label(name) {
  return plain(name).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

// lines: [{ name, x, y }]; bands: [{ name, x, mean, low, high }].
export async function draw(holder, { lines = [], bands = [], x, y }) {
  const traces = [];
  bands.forEach((band, k) => {
    const shade = COLOURS[k % COLOURS.length];
    traces.push({ x: [...band.x, ...[...band.x].reverse()], y: [...band.high, ...[...band.low].reverse()], fill: "toself", fillcolor: `${shade}33`, line: { width: 0 }, hoverinfo: "skip", showlegend: false, mode: "lines" });
    traces.push({ x: band.x, y: band.mean, name: label(band.name), mode: band.x.length < 3 ? "lines+markers" : "lines", line: { color: shade, width: 2.5, dash: DASHES[k % DASHES.length] } });
  });
  lines.forEach((line, k) => {
    const shade = COLOURS[k % COLOURS.length];
    traces.push({ x: line.x, y: line.y, name: label(line.name), mode: line.x.length < 3 ? "lines+markers" : "lines", line: { color: shade, width: bands.length ? 1 : 2, dash: DASHES[Math.floor(k / COLOURS.length) % DASHES.length] }, opacity: bands.length ? 0.55 : 1 });
  });
  const places = traces.flatMap((one) => one.x);
  const few = x === "steps" && places.reduce((a, b) => Math.max(a, b), -Infinity) - places.reduce((a, b) => Math.min(a, b), Infinity) < 12; // no ticks at half steps
  const plotly = await library();
  const place = holder.querySelector(".plot") ?? holder.appendChild(make("div", { class: "plot", role: "group" }));
  place.setAttribute("aria-label", `${plain(y)} against ${plain(x)}: ${traces.filter((one) => one.name).length} lines; the table below has the figures`);
  await plotly.react(place, traces, layout(x, y, few), { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"] });
  const before = holder.querySelector("details.figures");
  const fresh = figuresOf(lines, bands, x, y);
  fresh.open = before?.open ?? false;
  before?.remove();
  holder.append(fresh);
}

function figuresOf(lines, bands, x, y) {
  const details = make("details", { class: "figures" }, make("summary", {}, "figures as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const body = make("tbody");
    for (const line of [...bands.map((band) => ({ ...band, y: band.mean })), ...lines]) {
      line.x.forEach((place, k) => {
        const spread = line.low ? ` [${figure(line.low[k])}, ${figure(line.high[k])}]` : "";
        body.append(make("tr", {}, make("td", {}, plain(line.name)), make("td", {}, figure(place)), make("td", {}, figure(line.y[k]) + spread)));
      });
    }
    details.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "figures" }, make("table", {}, make("thead", {}, make("tr", {}, [make("th", { scope: "col" }, "run"), make("th", { scope: "col" }, plain(x)), make("th", { scope: "col" }, plain(y))])), body)));
  });
  return details;
}

// Panel with a choice of metric and axis. `runs` returns [{ name, setting }].
export function curves(runs, { metric = "training/reward", axes }) {
  const which = make("select", { id: "metric" });
  const along = make("select", { id: "axis" }, axes.map((axis) => make("option", { value: axis }, axis)));
  const seeds = make("input", { type: "checkbox", id: "seeds" });
  const status = make("p", { class: "note", "aria-live": "polite" });
  const holder = make("div", { class: "chart" });
  const choose = make("div", { class: "choices" },
    make("label", {}, "metric ", which), make("label", {}, "against ", along), make("label", {}, seeds, " mean and 95 % interval over seeds"));
  const element = make("section", { "aria-label": "curves" }, choose, holder, status);
  let selected = metric;
  async function redraw() {
    const chosen = runs();
    status.textContent = chosen.length ? "" : "no run is selected";
    const found = await Promise.all(chosen.map((run) => ask("curves", { run: run.name })));
    const names = [...new Set(found.flatMap((one) => Object.keys(one.metrics)))].sort();
    if (!names.length) { holder.replaceChildren(); if (chosen.length) status.textContent = "no metrics yet"; return; }
    selected = names.includes(which.value || selected) ? which.value || selected : names[0];
    which.replaceChildren(...names.map((name) => make("option", { value: name, selected: name === selected }, plain(name))));
    const axis = along.value;
    const lines = [];
    found.forEach((one, k) => {
      if (!(selected in one.metrics) || !(axis in one.spent)) return;
      const [steps, values] = one.metrics[selected];
      lines.push({ name: chosen[k].name, x: steps.map((step) => one.spent[axis][step]), y: values });
    });
    const bands = [];
    if (seeds.checked) {
      for (const setting of new Set(chosen.map((run) => run.setting).filter(Boolean))) {
        const { runs: same, band } = await ask("bands", { setting, metric: selected, axis });
        if (band) bands.push({ name: `${chosen.find((run) => run.setting === setting).method}, mean of ${same.length}`, ...band });
      }
      if (!bands.length) status.textContent = "no two runs differ only in the seed, so there is no band";
    }
    await draw(holder, { lines, bands, x: axis, y: selected });
  }
  let drawn = Promise.resolve();
  // In sequence: the last choice is drawn last, however long earlier ones take.
  const tried = () => { drawn = drawn.then(redraw).catch((error) => { status.textContent = error.message; }); return drawn; };
  for (const one of [which, along, seeds]) one.addEventListener("change", tried);
  return { element, redraw: tried };
}
