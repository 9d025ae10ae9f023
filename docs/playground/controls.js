// The sliders of the meshes, and those of the annotation of a value.
import { axisCell } from "./axes.js";
import { axisChip, byId, colourOf, countText, make } from "./format.js";

const SIZES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256];
const NEW_NAMES = ["x", "y", "z", "w", "data", "model", "pipe", "expert"];

// A slider whose stops are the positions in a list of `count` entries.
function slider(label, count, position, colour, onInput) {
  const input = make("input", { type: "range", min: 0, max: count - 1, step: 1, "aria-label": label, style: `--axis:${colour};--stops:${count - 1}` });
  move(input, position);
  input.addEventListener("input", () => { move(input, input.value); onInput(Number(input.value)); });
  return input;
}
function move(input, position) {
  input.value = position;
  input.style.setProperty("--share", input.max > 0 ? input.value / input.max : 0);
}

// ---- meshes ---------------------------------------------------------------------------------------------------
let shown = "";
// Shows a slider for each axis. The controls stay as they are while only sizes change, so that a drag goes on.
export function showMeshes(meshes, change) {
  const section = byId("mesh"), found = meshes.filter((mesh) => Object.keys(mesh.axes).length);
  section.querySelector(".count").textContent = found.length ? found.map(({ devices }) => countText(devices, "device")).join(", ") : "none: one device";
  const names = JSON.stringify(found.map(({ name, axes }) => [name, Object.keys(axes)]));
  if (names !== shown) section.querySelector(".controls").replaceChildren(...found.map((mesh) => meshNode(mesh, found.length > 1, change)));
  shown = names;
  for (const { name, axes } of found) for (const [axis, size] of Object.entries(axes)) showSize(section, name, axis, size);
}
function showSize(section, mesh, axis, size) {
  const row = section.querySelector(`[data-mesh="${CSS.escape(mesh)}"] [data-axis="${CSS.escape(axis)}"]`);
  row.querySelector("output").textContent = size;
  const input = row.querySelector("input"), position = SIZES.findLastIndex((each) => each <= size);
  if (document.activeElement !== input || SIZES[input.value] === size) move(input, position);
}
function meshNode({ name, axes }, hasTitle, change) {
  const node = make("div", { "data-mesh": name });
  const sizes = () => Object.fromEntries([...node.querySelectorAll("[data-axis]")].map((row) =>
    [row.dataset.axis, Number(row.querySelector("output").textContent)]));
  const rows = Object.entries(axes).map(([axis, size]) => {
    const output = make("output", {}, String(size));
    const input = slider(`Size of axis ${axis}`, SIZES.length, 0, colourOf(axis), (position) => {
      output.textContent = SIZES[position];
      change(name, sizes());
    });
    const remove = make("button", { type: "button", class: "icon", title: `Remove axis ${axis}`, "aria-label": `Remove axis ${axis}`, onclick: () => {
      const rest = sizes();
      delete rest[axis];
      change(name, rest);
    } }, "×");
    return make("div", { class: "control", "data-axis": axis }, axisChip([axis, axis]), input, output, remove);
  });
  const add = make("button", { type: "button", class: "link", onclick: () => {
    const known = sizes();
    change(name, { ...known, [NEW_NAMES.find((each) => !(each in known)) ?? `axis${rows.length}`]: 2 });
  } }, "+ axis");
  node.append(...(hasTitle ? [make("h4", { class: "mono" }, `@${name}`)] : []), ...rows, add);
  return node;
}

// ---- annotation -----------------------------------------------------------------------------------------------
const isSame = (a, b) => a.length === b.length && a.every((each, index) => each === b[index]);
const choiceNodes = (axes) => axes.length ? axes.map((ref) => axisChip(axisCell(ref))) : [make("span", { class: "dim" }, "unsharded")];

// Returns the sliders of an annotation; `change` is called with a dim, its axes, and whether it is closed.
export function annotationNode({ dims }, change) {
  return make("div", { class: "controls" }, ...dims.map(({ size, axes, closed, choices }, dim) => {
    const position = choices.findIndex((each) => isSame(each.axes, axes));
    const label = make("span", { class: "choice" }), colour = axes.length ? colourOf(axisCell(axes[0])[0]) : "var(--faint)";
    const describe = (choice) => label.replaceChildren(...choiceNodes(choice.axes),
      make("span", { class: "dim" }, choice.shards > 1 ? ` ${choice.shards} shards of ${Math.ceil(size / choice.shards)}` : ""));
    const input = slider(`Axes of dim ${dim}`, choices.length, position, colour, (chosen) => {
      describe(choices[chosen]);
      change(dim, choices[chosen].axes, closed);
    });
    const toggle = make("button", { type: "button", class: "toggle", "aria-pressed": String(!closed),
      title: closed ? "Closed: propagation adds no axes" : "Open: propagation may add axes",
      onclick: () => change(dim, axes, !closed) }, closed ? "closed" : "open");
    describe(choices[position]);
    return make("div", { class: "control", "data-dim": dim }, make("span", { class: "dim-name" }, `dim ${dim}`, make("small", {}, ` ${size}`)), input, label, toggle);
  }));
}
