// The selected value: its annotation, the origin of each of its axes, and why it is not sharded along others.
import { axisCell } from "./axes.js";
import { annotationNode } from "./controls.js";
import { axisChip, byId, colourOf, make } from "./format.js";

const title = (...content) => make("h2", {}, "Value ", ...content);
let previous = null;

// Shows a value, with the answer to the question about it. `actions` are functions of the page.
export function showValue(name, answer, analysed, actions) {
  const section = byId("value");
  if (name === null) {
    section.replaceChildren(title(), make("p", { class: "none" }, "Select a value in the program or in the shardings."));
    return;
  }
  if (!answer.explanation) {
    section.replaceChildren(title(make("span", { class: "mono" }, name)), make("p", { class: "none" }, "The program has no value of this name: the partitioner inserted it, or an edit removed it."));
    return;
  }
  const held = document.activeElement?.closest?.("#value [data-dim]");
  const [value] = answer.explanation.values;
  const heading = title(make("span", { class: "mono" }, name.includes(value.name) ? name : `${name} = ${value.name}`), make("small", {}, `${value.op}${value.line ? ", " : ""}`, ...lineNodes(value.line, actions)));
  const nodes = [heading];
  if (answer.annotation) {
    nodes.push(make("h4", {}, answer.annotation.is_annotated ? "Annotation" : "No annotation: move a slider to add one"),
      annotationNode(answer.annotation, actions.changeAnnotation));
  }
  nodes.push(make("h4", {}, "Sharding after propagation"), ...copyNodes(value, actions), whyNotNode(value, answer, analysed, actions));
  section.replaceChildren(...nodes);
  if (held && previous === name) section.querySelector(`[data-dim="${held.dataset.dim}"] input`)?.focus();
  previous = name;
}
const lineNodes = (line, { showLine }) => {
  const number = /^line (\d+)/.exec(line ?? "")?.[1];
  return number ? [make("button", { class: "link", type: "button", onclick: () => showLine(Number(number)) }, line)] : [line ?? ""];
};

function copyNodes({ copies }, actions) {
  if (!copies.length) return [make("p", { class: "none" }, "Not propagated: the value has no uses.")];
  return copies.flatMap(({ sharding, axes }, number) => [
    ...(copies.length > 1 ? [make("p", { class: "dim" }, `copy ${number + 1} of ${copies.length}: each use has a separate copy`)] : []),
    make("p", { class: "mono" }, sharding ?? "replicated: no sharding was propagated to it"),
    ...axes.map((origin) => originNode(origin, actions))]);
}
function originNode({ dim, axis, steps }, actions) {
  const cell = axisCell(axis);
  return make("div", { class: "origin" }, make("div", {}, `dim ${dim} is sharded along `, axisChip(cell)),
    make("ol", { style: `--axis:${colourOf(cell[0])}` }, ...steps.map(({ line, text }) => make("li", {}, ...lineNodes(line, actions), ` ${text}`))));
}

// A button for each axis that a dim is not sharded along.
function whyNotNode({ copies }, { annotation }, analysed, actions) {
  const taken = new Set(copies.flatMap(({ axes }) => axes.map(({ axis }) => axisCell(axis)[0])));
  const axes = analysed.report.meshes.flatMap((mesh) => Object.keys(mesh.axes)).filter((axis) => !taken.has(axis));
  if (!annotation || !axes.length) return make("div", {});
  const reasons = make("pre", { hidden: "" });
  const askFor = async (dim, axis) => {
    const answer = await actions.askWhyNot(dim, axis);
    const lines = answer.explanation?.why_not ?? [answer.diagnostics?.[0].message ?? answer.failure];
    reasons.textContent = lines.join("\n");
    reasons.hidden = false;
  };
  const dims = annotation.dims.map((_, dim) => make("span", {}, `dim ${dim} `, ...axes.map((axis) => {
    const chip = axisChip([axis, `${axis} ?`]);
    return make("button", { type: "button", class: "why", "aria-label": `Why is dim ${dim} not sharded along ${axis}?`, onclick: () => askFor(dim, axis) }, chip);
  })));
  return make("div", { class: "why-not" }, make("h4", {}, "Why is it not sharded along …"), make("div", { class: "choices" }, ...dims), reasons);
}
