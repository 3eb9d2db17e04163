// Makes elements of untrusted text as text nodes, never as markup.
// Characters that move the cursor, change the reading order or are invisible are shown by name.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;
const NAMES = new Map([
  [0x00, "NUL"], [0x07, "BEL"], [0x08, "BS"], [0x09, "TAB"], [0x0a, "LF"], [0x0d, "CR"], [0x1b, "ESC"], [0x7f, "DEL"],
  [0x9b, "CSI"], [0xad, "SOFT HYPHEN"], [0x61c, "ARABIC LETTER MARK"], [0x200b, "ZERO WIDTH SPACE"],
  [0x200c, "ZERO WIDTH NON-JOINER"], [0x200d, "ZERO WIDTH JOINER"], [0x200e, "LEFT-TO-RIGHT MARK"],
  [0x200f, "RIGHT-TO-LEFT MARK"], [0x2028, "LINE SEPARATOR"], [0x2029, "PARAGRAPH SEPARATOR"],
  [0x202a, "LEFT-TO-RIGHT EMBEDDING"], [0x202b, "RIGHT-TO-LEFT EMBEDDING"], [0x202c, "POP DIRECTIONAL FORMATTING"],
  [0x202d, "LEFT-TO-RIGHT OVERRIDE"], [0x202e, "RIGHT-TO-LEFT OVERRIDE"], [0x2060, "WORD JOINER"],
  [0x2066, "LEFT-TO-RIGHT ISOLATE"], [0x2067, "RIGHT-TO-LEFT ISOLATE"], [0x2068, "FIRST STRONG ISOLATE"],
  [0x2069, "POP DIRECTIONAL ISOLATE"], [0xfeff, "BYTE ORDER MARK"],
]);
export const ROOM = 2000;

// Makes an element: attributes by name ("class", "aria-label", "onclick"), children as nodes or safe text.
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) made.append(child instanceof Node ? child : String(child));
  }
  return made;
}

export function nameOf(character) {
  const code = character.codePointAt(0);
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  if (code >= 0xd800 && code <= 0xdfff) return `${hex} LONE SURROGATE`;
  return NAMES.has(code) ? `${hex} ${NAMES.get(code)}` : hex;
}

// Untrusted text as one line of text, for titles and options.
export function plain(text, room = 120) {
  let out = "";
  for (const character of String(text)) {
    if (out.length > room) return `${out} ...`;
    out += HIDDEN.test(character) ? `<${nameOf(character)}>` : character;
  }
  return out;
}

// Appends untrusted text to an element; a line break and a tab are marked and rendered.
export function put(parent, text, breaks = true) {
  let run = "";
  const flush = () => { if (run) parent.append(run); run = ""; };
  for (const character of text) {
    if (!HIDDEN.test(character)) { run += character; continue; }
    flush();
    const code = character.codePointAt(0);
    if (code === 10 && !breaks) { parent.append("\n"); continue; }
    const short = code === 10 ? "\u21b5" : code === 9 ? "\u21e5" : nameOf(character);
    const mark = make("span", { class: code === 10 || code === 9 ? "mark soft" : "mark", title: nameOf(character) }, short);
    parent.append(mark);
    if (code === 10) parent.append("\n");
    if (code === 9) parent.append("\t");
  }
  flush();
  return parent;
}

// Untrusted text as a block; long text is folded, and a button shows more.
export function block(text, room = ROOM, tag = "div", breaks = true) {
  const whole = String(text);
  const made = make(tag, { class: "text", dir: "ltr" });
  put(made, whole.slice(0, room), breaks);
  let shown = Math.min(room, whole.length);
  if (shown >= whole.length) return made;
  const step = Math.max(room, 20000);
  const more = make("button", { type: "button", class: "more" });
  const label = () => {
    const left = whole.length - shown;
    more.textContent = `show ${count(Math.min(step, left))} more of ${count(left)} characters`;
  };
  more.addEventListener("click", () => {
    more.remove();
    put(made, whole.slice(shown, shown + step), breaks);
    shown = Math.min(shown + step, whole.length);
    if (shown < whole.length) { label(); made.append(more); }
  });
  label();
  made.append(more);
  return made;
}

export function count(value) {
  return Number(value).toLocaleString("en-US");
}

export function many(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// A figure in a few digits; a dash for what is missing.
export function figure(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "-";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  return size >= 0.001 && size < 1e6 ? String(Number(value.toPrecision(digits))) : value.toExponential(2);
}

export function seconds(value) {
  if (value === null || value === undefined) return "-";
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${figure(value, 3)} s`;
}

export function when(time) {
  return time ? new Date(time * 1000).toISOString().slice(0, 19).replace("T", " ") : "-";
}

// Indented JSON; line breaks of the layout are not marked.
export function jsonBlock(value, room = ROOM) {
  return block(JSON.stringify(value, null, 1), room, "pre", false);
}

export function facts(pairs) {
  const list = make("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value instanceof Node ? value : put(make("span"), String(value)))));
  }
  return list;
}

export function badge(text, kind = "") {
  return put(make("span", { class: `badge ${kind}` }), String(text));
}
