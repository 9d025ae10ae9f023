// The documents of `sdy report`, `sdy cost` and `sdy partition` on the right-hand side of the page.
import { axisCell } from "./axes.js";
import { KIND_TONES, axisChip, byId, bytesText, card, countText, make, secondsText, shortType, typeNodes } from "./format.js";

const MOST_ROWS = 400;

// Shows an answer. `actions.select` is called with the name of a value, `actions.showLine` with the number of a line.
export function showResults(answer, chosen, actions) {
  showCost(answer);
  showCollectives(answer.report.collectives, actions.showLine);
  showShardings(answer, chosen, actions);
  showConflicts(answer.report.conflicts, actions.showLine);
  showLocal(answer.partition.program);
}

const lineButton = (line, text, showLine) => line === null ? text
  : make("button", { class: "link", type: "button", onclick: () => showLine(line) }, text || `line ${line}`);
const count = (section, text) => { section.querySelector(".count").textContent = text; };

// ---- cost -----------------------------------------------------------------------------------------------------
function showCost({ cost, report }) {
  const total = cost.seconds_in_turn || 1;
  byId("cards").replaceChildren(
    card(secondsText(cost.seconds_in_turn), `on ${cost.hardware}, without overlap`),
    card(secondsText(cost.communication_seconds), "communication", cost.communication_seconds / total, "var(--bad)"),
    card(bytesText(report.totals.bytes_sent), "sent by each device"),
    card(bytesText(cost.peak_bytes), `peak of ${bytesText(cost.free_bytes)}${cost.fits ? "" : ": does not fit"}`,
      cost.peak_bytes / cost.free_bytes, cost.fits ? "var(--good)" : "var(--bad)"),
    card(String(report.collectives.length), report.collectives.length === 1 ? "collective" : "collectives"));
  const seconds = new Map([["compute", cost.op_seconds]]);
  cost.collectives.forEach((each) => seconds.set(each.kind, (seconds.get(each.kind) ?? 0) + each.seconds));
  const parts = [...seconds].filter(([, value]) => value > 0), tone = (kind) => KIND_TONES[kind] ?? "#6b7686";
  byId("shares").replaceChildren(
    make("div", { class: "bar" }, ...parts.map(([kind, value]) =>
      make("span", { style: `flex:${value / total};background:${tone(kind)}`, title: `${kind} ${secondsText(value)}` }))),
    make("div", { class: "key" }, ...parts.map(([kind, value]) => make("span", {}, make("i", { style: `background:${tone(kind)}` }), `${kind} ${secondsText(value)}`))));
}

// ---- collectives ----------------------------------------------------------------------------------------------
function showCollectives(collectives, showLine) {
  const section = byId("collectives"), table = section.querySelector("table");
  count(section, collectives.length ? String(collectives.length) : "");
  if (!collectives.length) {
    table.replaceChildren(make("tbody", {}, make("tr", {}, make("td", { class: "none" }, "None: the devices do not communicate."))));
    return;
  }
  const longest = Math.max(...collectives.map(({ seconds }) => seconds)) || 1;
  const head = ["kind", "axes", "bytes sent", "time", "cause", "line"].map((name, index) => make("th", index === 2 || index === 3 ? { class: "number" } : {}, name));
  table.replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...collectives.map((each) => make("tr", {},
    make("td", { class: "kind" }, each.kind, each.runs > 1 ? make("span", { class: "dim" }, ` × ${each.runs}`) : null),
    make("td", {}, ...each.axes.map((ref) => axisChip(axisCell(ref)))),
    make("td", { class: "number" }, bytesText(each.bytes_sent)),
    make("td", { class: "number" }, secondsText(each.seconds), make("span", { class: "meter", style: `--share:${(100 * each.seconds) / longest}%` })),
    make("td", {}, causeNode(each)),
    make("td", {}, lineButton(each.line, each.source, showLine))))));
}

function causeNode({ cause, causes }) {
  const text = cause.replace(/^(an?|the) /, "");
  if (!causes.length) return make("span", { class: "dim" }, text);
  return make("details", {}, make("summary", {}, text), ...causes.map((line) => make("p", line.startsWith(" ") ? { class: "why" } : {}, line.trim())));
}

// ---- shardings ------------------------------------------------------------------------------------------------
// The rows are those of the HTML report: [depth, op, results, operands, line, sent]. The results of main follow them.
function showShardings({ rows: { functions, values, kinds }, report }, chosen, actions) {
  const section = byId("shardings"), main = functions.find(({ name }) => name === "main") ?? functions[0];
  const all = functions.flatMap((func) => [...func.rows.map((row) => opRow(row, func === main ? "" : `@${func.name}:`, values, kinds)),
    ...(func === main ? resultRows(func, report.values) : [])]);
  count(section, `${countText(all.length, "row")}${all.length > MOST_ROWS ? `, the first ${MOST_ROWS}` : ""}`);
  const head = make("div", { class: "row head" }, ...[["at", "line"], ["code", "value"], ["kind", "global type with axes"], ["local", "local type"], ["bytes", "bytes"]]
    .map(([name, text]) => make("span", { class: name }, text)));
  byId("rows").replaceChildren(head, ...all.slice(0, MOST_ROWS).map((row) => rowNode(row, chosen, actions)));
}
const opRow = ([depth, op, results, , line, sent], prefix, values, kinds) => ({
  depth, op, line, isSent: sent !== null, names: results.map((value) => values[value][0]), kinds: results.map((value) => kinds[values[value][1]]), prefix });
function resultRows({ rows }, boundary) {
  const argumentCount = rows.findIndex(([, op]) => op !== "argument");
  return boundary.slice(argumentCount).map(({ name, sharding, global_type: type, local_type: local }) => ({
    depth: 0, op: "result", line: null, isSent: false, names: [name], kinds: [{ ...kindOf(type, sharding), local, bytes: [0, 0] }], prefix: "" }));
}
// The type of a result as the other rows have it, from its text and that of its dims: `[{"x", ?}, {}]`.
function kindOf(type, sharding) {
  const [, shape, element] = /^tensor<((?:\d+x)*)([^x>]+)>$/.exec(type) ?? [];
  if (element === undefined) return { type };
  const axes = [...sharding.matchAll(/\{([^}]*)\}/g)].map(([, dim]) => (dim.match(/"[^"]+"(?::\(\d+\)\d+)?/g) ?? []).map(axisCell));
  return { type, element, dims: shape.split("x").slice(0, -1).map((size, dim) => [size, axes[dim] ?? []]) };
}
function rowNode({ depth, op, line, isSent, names, kinds, prefix }, chosen, { select, showLine }) {
  const stacked = (cell) => kinds.flatMap((kind, index) => [...(index ? [make("br")] : []), cell(kind)]);
  const name = names.length ? prefix + names[0] : null;
  return make("div", { class: `row${isSent ? " sends" : ""}${name !== null && name === chosen ? " chosen" : ""}`, ...(name && { "data-value": name }), onclick: () => {
    if (name) select(name);
    if (line !== null) showLine(line, op === "argument" ? names[0] : null);
  } },
    make("span", { class: "at" }, line === null ? "" : String(line)),
    make("span", { class: "code", style: `padding-left:${depth}em` }, name ? make("button", { type: "button", class: "value" }, names.join(", ")) : "",
      " ", make("span", { class: "op" }, op.replace(/^(stablehlo|sdy)\./, ""))),
    make("span", { class: "kind" }, ...stacked((kind) => make("span", {}, ...typeNodes(kind)))),
    make("span", { class: "local" }, ...stacked((kind) => shortType(kind.local))),
    make("span", { class: "bytes" }, ...stacked((kind) => (kind.bytes[0] ? bytesText(kind.bytes[1]) : ""))));
}

// ---- conflicts and the local program --------------------------------------------------------------------------
function showConflicts(conflicts, showLine) {
  const section = byId("conflicts");
  count(section, conflicts.length ? String(conflicts.length) : "");
  const sites = conflicts.map(({ line, source, op, sentences }) => make("div", { class: "site" },
    lineButton(line, source, showLine), make("span", { class: "mono" }, `  ${op}`), ...sentences.map((text) => make("p", {}, text))));
  section.querySelector(".list").replaceChildren(...(sites.length ? sites : [make("p", { class: "none" }, "None: the tensors of every op have compatible shardings.")]));
}
function showLocal(program) {
  count(byId("local"), countText(program.trimEnd().split("\n").length, "line"));
  byId("local").querySelector("pre").textContent = program;
}
