// Images of a rollout: a small view with a caption, larger on click, with the part that a tool cut out and the patch under the pointer.
import { imageAddress } from "./source.js";
import { count, many, make, plain } from "./text.js";

const WIDTH = 320;
const HEIGHT = 240;
const LARGEST = 4;
const DIGITS = 6;

// Element of an image {digest, width, height}: alt is its description, tokens their number, box a part in shares of the sides.
export function imageOf(run, image, { alt = "", tokens = null, box = null, ...attributes } = {}) {
  const size = `${image.width}x${image.height}`;
  const words = plain(alt || `image ${size}`, 300);
  const caption = [size, tokens === null ? null : many(tokens, "token"), image.digest.slice(0, DIGITS)].filter((part) => part !== null).join(", ");
  const scale = Math.min(WIDTH / image.width, HEIGHT / image.height, LARGEST);
  const note = make("figcaption", {}, caption);
  const token = tokens === null || !image.grid || !attributes["data-token"] ? null : Number(attributes["data-token"].split(".")[1]);
  const button = make("button", { type: "button", class: "enlarge", "aria-label": `enlarge ${words}` }, frameOf(run, image, words, box, scale, { note, token }));
  button.addEventListener("click", () => enlarge(run, image, words, box, caption, token));
  return make("figure", { class: "image", ...attributes, "data-image": image.digest }, button, note);
}

// Outlines the patch under the pointer and names its token in the note; `token` is the number of the image's first token.
function followPatches(frame, grid, note, token) {
  const caption = note.textContent;
  const patch = make("span", { class: "patch" });
  const place = (share, side, count) => Math.max(0, Math.min(count - 1, Math.floor(share / side)));
  frame.addEventListener("pointermove", (event) => {
    const area = frame.getBoundingClientRect();
    const column = place((event.clientX - area.left) / area.width, grid.width, grid.columns);
    const row = place((event.clientY - area.top) / area.height, grid.height, grid.rows);
    Object.assign(patch.style, { left: `${100 * column * grid.width}%`, top: `${100 * row * grid.height}%`, width: `${100 * grid.width}%`, height: `${100 * grid.height}%` });
    if (!patch.isConnected) frame.append(patch);
    note.textContent = `token ${count(token + grid.first + row * grid.columns + column)}: row ${row + 1}, column ${column + 1}`;
  });
  frame.addEventListener("pointerleave", () => { patch.remove(); note.textContent = caption; });
}

function frameOf(run, image, words, box, scale, { note = null, token = null } = {}) {
  const frame = make("span", { class: "frame", style: `width:${Math.max(8, Math.round(image.width * scale))}px;aspect-ratio:${image.width}/${image.height}` });
  imageAddress(run, image.digest).then((address) => {
    if (address === null) { frame.classList.add("absent"); frame.title = "the bytes of this image are not in the report"; return; }
    const shown = make("img", { src: address, alt: words, class: scale >= 2 ? "coarse" : null });
    shown.addEventListener("error", () => { shown.remove(); frame.classList.add("absent"); });
    frame.prepend(shown);
  });
  if (box) {
    const [left, top, right, bottom] = box.map((share) => 100 * share);
    frame.append(make("span", { class: "box", style: `left:${left}%;top:${top}%;width:${right - left}%;height:${bottom - top}%` }));
  }
  if (token !== null) followPatches(frame, image.grid, note, token);
  return frame;
}

function enlarge(run, image, words, box, caption, token) {
  const scale = Math.min((0.88 * window.innerWidth) / image.width, (0.78 * window.innerHeight) / image.height, 16);
  const close = make("button", { type: "button" }, "close");
  const note = make("span", { class: "note" }, caption);
  const dialog = make("dialog", { class: "enlarged", "aria-label": words }, frameOf(run, image, words, box, scale, { note, token }), make("p", { class: "title" }, note, close));
  const end = () => dialog.close();
  close.addEventListener("click", end);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) end(); });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
