// The state of the page, and what happens when a part of it changes.
import { byId, make, setAxisNames } from "./format.js";
import * as controls from "./controls.js";
import * as editor from "./editor.js";
import { fragmentOf, stateOf } from "./link.js";
import { ask, newestOnly, onStage, start } from "./python.js";
import { showResults } from "./results.js";
import { showValue } from "./value.js";

const PAUSE = 150;  // milliseconds without a key press before the program is analysed
const DIAGNOSTICS = "https://sdy-dev.github.io/sdy/reference/diagnostics/";
const OWN_PROGRAM = "";
const ONE_CHANGE = 1000;  // milliseconds between steps of a drag, which are undone together

const state = { machine: "", value: null };
let manifest = null, analysed = null;  // the last answer without an error
const analyse = newestOnly(), edit = newestOnly(), explain = newestOnly();

const exampleOf = (text) => manifest.examples.find((each) => each.text === text)?.name ?? OWN_PROGRAM;
const analysisQuestion = () => ({ ask: "analysis", text: editor.text(), machine: state.machine });

// ---- answers --------------------------------------------------------------------------------------------------
async function refresh() {
  byId("example").value = exampleOf(editor.text());
  document.body.classList.add("waiting");
  const answer = await analyse(analysisQuestion);
  if (answer === null) return;
  document.body.classList.remove("waiting");
  showAnswer(answer);
  if (answer.report) refreshValue();
}
function showAnswer(answer) {
  const problems = answer.diagnostics ?? [];
  showProblems(answer.failure ? [{ code: null, text: `This is an error in sdy: ${answer.failure}` }] : problems);
  editor.setProblems(problems.filter(({ file }) => file !== null));
  document.body.classList.toggle("stale", !answer.report);
  if (!answer.report) return;
  analysed = answer;
  const axes = answer.report.meshes.flatMap((mesh) => Object.keys(mesh.axes));
  setAxisNames(axes);
  editor.setAxes(axes);
  controls.showMeshes(answer.report.meshes, changeMesh);
  showResults(answer, state.value, { select, showLine });
}
function showProblems(problems) {
  byId("problems").replaceChildren(...problems.map(({ code, text }) => make("pre", {}, ...(code === null ? [text]
    : [text.slice(0, text.indexOf(`[${code}]`)), make("a", { href: `${DIAGNOSTICS}#${code.toLowerCase()}` }, `[${code}]`),
      text.slice(text.indexOf(`[${code}]`) + code.length + 2)]))));
}
async function refreshValue() {
  if (state.value === null) return showValue(null);
  const answer = await explain(() => ({ ask: "value", text: editor.text(), value: state.value }));
  if (answer !== null) showValueAnswer(answer);
}
function showValueAnswer(answer) {
  const isGone = (answer.diagnostics ?? []).some(({ code }) => code === "SDY-T203");
  if (isGone || answer.explanation) showValue(state.value, answer, analysed, { changeAnnotation, askWhyNot, showLine, select });
}
const askWhyNot = (dim, axis) => ask({ ask: "why-not", text: editor.text(), value: state.value, dim, axis });

// ---- changes --------------------------------------------------------------------------------------------------
let undoable = [], changed = "", changedAt = 0;  // texts before changes by controls, and the control that was used last
function remember(text, { ask, mesh, dim, closed }) {
  const control = [ask, mesh, state.value, dim, closed].join();
  if (control !== changed || Date.now() - changedAt > ONE_CHANGE) undoable.push(text);
  [changed, changedAt] = [control, Date.now()];
  byId("undo").hidden = false;
}
function undo() {
  editor.setText(undoable.pop());
  byId("undo").hidden = !undoable.length;
  changed = "";
  refresh();
}
async function changeText(question) {
  const answer = await edit(() => ({ text: editor.text(), ...question }));
  if (answer === null) return;
  if (answer.text === undefined) return showAnswer(answer);
  remember(editor.text(), question);
  editor.setText(answer.text);
  refresh();
}
const changeMesh = (mesh, axes) => changeText({ ask: "mesh", mesh, axes });
const changeAnnotation = (dim, axes, closed) => changeText({ ask: "annotation", value: state.value, dim, axes, closed });

function select(value) {
  state.value = value;
  byId("value").scrollIntoView({ block: "nearest" });
  if (analysed) showResults(analysed, state.value, { select, showLine });
  refreshValue();
}
function showLine(line, argument = null) {
  const shown = argument === null ? line : editor.lineOfArgument(argument, line);
  editor.setChosenLine(shown);
  editor.showLine(shown);
}
function show(text, machine, value) {
  Object.assign(state, { machine, value });
  [undoable, changed] = [[], ""];
  byId("undo").hidden = true;
  byId("machine").value = machine;
  editor.setChosenLine(null);
  editor.setText(text);
}

// ---- links ----------------------------------------------------------------------------------------------------
async function share() {
  const example = exampleOf(editor.text());
  const program = example === OWN_PROGRAM ? { text: editor.text() } : { example };
  history.replaceState(null, "", await fragmentOf({ ...program, machine: state.machine, value: state.value }));
  const isCopied = await navigator.clipboard.writeText(location.href).then(() => true, () => false);
  byId("share").textContent = isCopied ? "Copied" : "See the address bar";
  setTimeout(() => { byId("share").textContent = "Copy link"; }, 1500);
}
async function linkedState() {
  const linked = await stateOf(location.hash);
  const text = linked?.text ?? manifest.examples.find(({ name }) => name === linked?.example)?.text;
  const machine = manifest.machines.some(({ name }) => name === linked?.machine) ? linked.machine : manifest.first.machine;
  return typeof text === "string" ? { text, machine, value: typeof linked.value === "string" ? linked.value : null } : null;
}
async function open() {
  const linked = await linkedState();
  const { text, machine, value } = linked ?? manifest.first;
  show(text, machine, value);
  if (!linked) {  // answers that were computed when the page was built
    showAnswer(manifest.first.answers.analysis);
    showValueAnswer(manifest.first.answers.value);
  }
  refresh();
}

// ---- start ----------------------------------------------------------------------------------------------------
function listen() {
  let waiting = 0;
  editor.onEdit(() => { clearTimeout(waiting); waiting = setTimeout(refresh, PAUSE); });
  editor.onValue(select);
  byId("example").addEventListener("change", ({ target }) => {
    const example = manifest.examples.find(({ name }) => name === target.value);
    if (!example) return;
    show(example.text, state.machine, null);
    refresh();
  });
  byId("machine").addEventListener("change", ({ target }) => { state.machine = target.value; refresh(); });
  byId("undo").addEventListener("click", undo);
  byId("format").addEventListener("click", () => changeText({ ask: "format" }));
  byId("share").addEventListener("click", share);
  addEventListener("hashchange", open);
  const setTheme = (theme) => document.documentElement.setAttribute("data-theme", theme);
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  onStage((stage, isFailure) => {
    byId("stage").textContent = isFailure ? `Python cannot be started: ${stage}` : stage && `${stage} …`;
    document.body.classList.toggle("loading", Boolean(stage) && !isFailure);
    document.body.classList.toggle("ready", !stage);
  });
}
async function main() {
  listen();
  manifest = await (await fetch("manifest.json")).json();
  byId("example").append(make("option", { value: OWN_PROGRAM }, "your own"),
    ...manifest.examples.map(({ name, summary }) => make("option", { value: name, title: summary }, name)));
  byId("machine").append(...manifest.machines.map(({ name }) => make("option", {}, name)));
  start();
  await open();
}
main();
