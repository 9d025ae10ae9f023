// A textarea above a coloured copy of its text, with line numbers, marked lines and underlined errors.
import { byId, colourOf, make } from "./format.js";

const TOKEN = /(\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*")|(%[\w$.-]+(?:#\d+)?)|([@#][\w$.-]+)|\b((?:stablehlo|sdy|chlo|func|mhlo)\.[\w.]+|func|module|return)\b|((?:tensor|!quant)(?=<))/g;
const CLASSES = [null, "comment", "string", "name", "symbol", "op", "type"];
const LONGEST_HEADER = 100;  // characters

const area = byId("text"), copy = byId("copy"), numbers = byId("numbers");
let axes = new Set(), problems = [], chosenLine = null;

export const text = () => area.value;
export const setText = (value) => {
  const { scrollLeft, scrollTop } = area;
  area.value = value;
  area.scrollTo(scrollLeft, scrollTop);
  redraw();
};
export const onEdit = (listener) => area.addEventListener("input", () => { redraw(); listener(); });

// Calls `listener` with the name of the value at which the user clicks.
export const onValue = (listener) => area.addEventListener("click", () => {
  if (area.selectionStart !== area.selectionEnd) return;
  for (const match of area.value.matchAll(/%[\w$.-]+(?:#\d+)?/g)) {
    if (match.index <= area.selectionStart && area.selectionStart <= match.index + match[0].length) listener(match[0]);
  }
});

export function setAxes(names) {
  axes = new Set(names);
  redraw();
}
// Marks the locations of diagnostics: the `line` and `column`, from 1, and the `length` of each.
export function setProblems(found) {
  problems = found.filter(({ line }) => line !== null);
  redraw();
}
export function setChosenLine(line) {
  chosenLine = line;
  redraw();
}
// Returns the number of the line that declares an argument, at or after another line.
export function lineOfArgument(name, line) {
  const lines = area.value.split("\n"), index = lines.findIndex((each, number) => number >= line - 1 && each.includes(`${name}:`));
  return index < 0 ? line : index + 1;
}
export function showLine(line) {
  const height = parseFloat(getComputedStyle(area).lineHeight);
  const top = (line - 1) * height;
  if (top < area.scrollTop || top > area.scrollTop + area.clientHeight - 2 * height) area.scrollTop = Math.max(0, top - area.clientHeight / 3);
}

function coloured(line) {
  const nodes = [];
  let end = 0;
  for (const match of line.matchAll(TOKEN)) {
    const kind = match.slice(1).findIndex(Boolean) + 1, [token] = match;
    const axis = kind === 2 && axes.has(token.slice(1, -1)) ? token.slice(1, -1) : null;
    nodes.push(line.slice(end, match.index), axis === null ? make("span", { class: CLASSES[kind] }, token)
      : make("span", { class: "of-axis", style: `--axis:${colourOf(axis)}` }, token));
    end = match.index + token.length;
  }
  return [...nodes, line.slice(end)];
}
const underlined = (line, { column, length }) => [
  make("span", { class: "blank" }, line.slice(0, column - 1)),
  make("span", { class: "wrong" }, line.slice(column - 1, column - 1 + Math.max(1, length)) || " ")];

let isWaiting = false;
function redraw() {  // once before the next frame, whatever has changed
  if (!isWaiting) requestAnimationFrame(draw);
  isWaiting = true;
}
function draw() {
  isWaiting = false;
  const lines = area.value.split("\n");
  const wrong = new Map(problems.map((problem) => [problem.line, problem]));
  copy.replaceChildren(...lines.map((line, index) => {
    const problem = wrong.get(index + 1);
    const node = make("div", { class: problem ? "line bad-line" : index + 1 === chosenLine ? "line chosen-line" : "line" }, ...coloured(line), "\n");
    if (problem) node.prepend(make("span", { class: "underlines" }, ...underlined(line, problem)));
    return node;
  }));
  numbers.replaceChildren(...lines.map((_, index) =>
    make("div", { class: wrong.has(index + 1) ? "bad" : index + 1 === chosenLine ? "current" : "" }, String(index + 1))));
  byId("editor").style.setProperty("--lines", lines.length);
  byId("format").hidden = !lines.some((line) => line.length > LONGEST_HEADER && /\bfunc\.func\b/.test(line));
  follow();
}
function follow() {
  copy.style.transform = `translate(${-area.scrollLeft}px, ${-area.scrollTop}px)`;
  numbers.style.transform = `translateY(${-area.scrollTop}px)`;
}
area.addEventListener("scroll", follow);
