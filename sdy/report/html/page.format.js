"use strict";
// The formatting of numbers, axes and types. The playground uses it as well: docs/playground.
// All text of the program is inserted as text nodes, never as markup.
const HUES = 8;  // as many as in markup.py
const KIND_TONES = { "all-gather": "#2f6fed", "reduce-scatter": "#2b9348", "all-reduce": "#d9480f", "all-to-all": "#a23bc9", "collective-permute": "#0b8fa8" };

const byId = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (name === "style") node.style.cssText = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
};
const makeSvg = (tag, attributes, text = "") => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
};

const scaled = (value, units) => {
  const [size, unit] = units.find(([each]) => value >= each) ?? units[units.length - 1];
  return `${Number((value / size).toPrecision(3))} ${unit}`;
};
const secondsText = (value) => value === 0 ? "0 s" : scaled(value, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
const bytesText = (value) => scaled(value, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
const countText = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

// ---- axes and types -------------------------------------------------------------------------------------------
let axisNames = [];  // their order selects the colours
const setAxisNames = (names) => { axisNames = [...new Set(names)]; };
const colourOf = (name) => `var(--hue-${Math.max(0, axisNames.indexOf(name)) % HUES})`;
const axisChip = ([name, text], title = "") =>
  make("span", { class: "axis", style: `--axis:${colourOf(name)}`, ...(title && { title }) }, text);
const typeNodes = (kind) => {
  if (!kind.dims) return [kind.type];
  const nodes = [`${kind.element}[`];
  kind.dims.forEach(([size, axes], index) => {
    if (index) nodes.push(", ");
    nodes.push(String(size));
    if (axes.length) nodes.push("\u2009", ...axes.map((axis) => axisChip(axis)));
  });
  nodes.push("]");
  if (kind.unreduced?.length) nodes.push(" unreduced ", ...kind.unreduced.map((axis) => axisChip(axis)));
  return nodes;
};
const shortType = (text) => text.replace(/^tensor<(?:([\dx?]+)x)?([^x>]+)>$/, (_, dims, element) =>
  `${element}[${(dims ?? "").replaceAll("x", ", ")}]`);

// A large number with its unit, a description, and a bar for its share of something.
const card = (value, text, share = null, tone = "var(--accent)") => {
  const [number, unit] = value.split(" ");
  return make("div", { class: "card" }, make("b", {}, number, unit ? make("small", {}, ` ${unit}`) : null), make("span", {}, text),
    share === null ? null : make("i", { style: `--share:${Math.min(100, share * 100)}%;--tone:${tone}` }));
};
