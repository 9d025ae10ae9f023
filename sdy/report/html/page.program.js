// The rows of the program: folding, tooltips, details.
const valueNode = (value, text = data.values[value][0]) => make("button", { class: "value", type: "button", "data-value": value }, text);
const joined = (nodes, between) => nodes.flatMap((node, index) => (index ? [between, node] : [node]));
const limited = (values) => values.slice(0, MOST_RESULTS);
const stacked = (values, cell) => joined(limited(values).map(cell), document.createElement("br")).map((node) =>
  node instanceof HTMLBRElement ? node.cloneNode() : node);

function codeNodes([, op, results, operands, , sent]) {
  const [stem, number] = results.length ? data.values[results[0]][0].split("#") : [];
  const names = number === "0" ? [valueNode(results[0], `${stem}:${results.length}`)]
    : joined(results.map((value) => valueNode(value)), ", ");
  const labels = results.map((value) => data.values[value][3]).filter(Boolean);
  if (op === "argument") {
    return [...names, make("span", { class: "dim" }, " argument"), ...(labels.length ? [make("span", { class: "label" }, ` ${labels.join(", ")}`)] : [])];
  }
  const nodes = results.length ? [...names, " = "] : [];
  nodes.push(make("span", { class: "op" }, op.replace(/^stablehlo\./, "")), " ", ...joined(operands.map((value) => valueNode(value)), ", "));
  if (sent) nodes.push(make("span", { class: "dim" }, `  ${bytesText(sent[2])} sent`));
  return nodes;
}

function rowNode(number) {
  const row = rows[number], [depth, , results, , line, sent] = row;
  const kinds = results.map((value) => data.kinds[data.values[value][1]]);
  const node = make("div", { class: `row${sent ? " sends" : ""}`, "data-row": number },
    make("span", { class: "at" }, line === null ? "" : String(line)),
    make("span", { class: "code", style: `padding-left:${depth * 1.4}em` }, ...codeNodes(row)),
    make("span", { class: "kind" }, ...stacked(kinds, (kind) => make("span", {}, ...typeNodes(kind)))),
    make("span", { class: "local" }, ...stacked(kinds, (kind) => shortType(kind.local))),
    make("span", { class: "bytes" }, ...stacked(kinds, (kind) => (kind.bytes[0] ? bytesText(kind.bytes[1]) : ""))));
  rowNodes.set(number, node);
  return node;
}
function rowChunks(first, last) {
  const chunks = [];
  for (let start = first; start < last; start += CHUNK) {
    const chunk = make("div", { class: "chunk" });
    for (let number = start; number < Math.min(start + CHUNK, last); number++) chunk.append(rowNode(number));
    chunks.push(chunk);
  }
  return chunks;
}
function lineSpan(first, last) {
  const lines = rows.slice(first, last).map((row) => row[4]).filter((line) => line !== null);
  const least = Math.min(...lines), most = Math.max(...lines);
  return lines.length === 0 ? "no line" : least === most ? `line ${least}` : `lines ${least} to ${most}`;
}
const folds = [];
function foldNodes(first, last, title) {
  const body = make("div", { hidden: "" });
  const open = () => {
    if (!body.childElementCount) body.append(...rowChunks(first, last));
    body.hidden = false;
    button.setAttribute("aria-expanded", "true");
  };
  const button = make("button", { class: "fold", type: "button", "aria-expanded": "false", onclick: () => {
    if (body.hidden) open();
    else { body.hidden = true; button.setAttribute("aria-expanded", "false"); }
  } }, title);
  folds.push({ first, last, open });
  return [button, body];
}
function repeatedNodes(begin, period, count) {
  const end = begin + period * count;
  const title = (first, last, times) => `the same ${countText(period, "row")} ${times}, ${lineSpan(first, last)}`;
  if (period < SHORT_PERIOD) return foldNodes(begin + period, end, title(begin + period, end, countText(count - 1, "more time")));
  const starts = Array.from({ length: count - 1 }, (_, again) => begin + (again + 1) * period);
  return starts.flatMap((first, again) => foldNodes(first, first + period, title(first, first + period, `again (${again + 2} of ${count})`)));
}
function functionNodes(func, isFirst) {
  const title = make("div", { class: "func" }, `@${func.name} `, make("small", { class: "dim" }, countText(func.rows.length, "row")));
  if (!isFirst) return [title, ...foldNodes(func.first, func.last, `show @${func.name}`)];
  const nodes = [title];
  let at = func.first;
  for (const [start, period, count] of func.repeats) {
    const begin = func.first + start;
    nodes.push(...rowChunks(at, begin), make("div", { class: "fold-note" }, `${countText(period, "row")}, repeated ${count} times`), ...rowChunks(begin, begin + period));
    nodes.push(...repeatedNodes(begin, period, count));
    at = begin + count * period;
  }
  return [...nodes, ...rowChunks(at, func.last)];
}
const rowHead = () => make("div", { class: "row head" }, ...[["at", "line"], ["code", "op"], ["kind", "global type with mesh axes"],
  ["local", "local type"], ["bytes", "bytes"]].map(([name, title]) => make("span", { class: name }, title)));

const ROW_MARGIN = 12;  // pixels between a chosen row and the details

// ---- details and hover ----------------------------------------------------------------------------------------
const term = (name, ...content) => [make("dt", {}, name), make("dd", {}, ...content)];
const lineButton = (line, text = `line ${line}`) =>
  make("button", { class: "link", type: "button", onclick: () => goToLine(line) }, text);
const stepsOf = (number) => {
  const steps = [];
  for (let step = number; step >= 0; step = data.steps[step][0]) steps.unshift(data.steps[step]);
  return steps;
};
function originNodes([dim, axis, last]) {
  return [make("div", {}, `dim ${dim} is sharded along `, axisChip(axis)),
    make("ol", { style: `--axis:${colourOf(axis[0])}` }, ...stepsOf(last).map(([, lineText, text]) => {
      const line = /^line (\d+)/.exec(lineText);
      return make("li", {}, line ? lineButton(Number(line[1]), lineText) : lineText, ` ${text}`);
    }))];
}
function valueDetails(value) {
  const [name, kindNumber, origins, label] = data.values[value], kind = data.kinds[kindNumber];
  const nodes = [make("h3", { class: "mono" }, name, label ? make("span", { class: "dim" }, `  ${label}`) : null),
    make("div", { class: "mono" }, ...typeNodes(kind)),
    make("dl", {},
      ...term("sharding", make("span", { class: "mono" }, kind.sharding ?? "replicated")),
      ...term("global type", make("span", { class: "mono" }, shortType(kind.type)), ` ${bytesText(kind.bytes[0])}`),
      ...term("local type", make("span", { class: "mono" }, shortType(kind.local)), ` ${bytesText(kind.bytes[1])}`))];
  if (origins.length) nodes.push(make("h4", {}, "Origin of its axes"), ...origins.flatMap(originNodes));
  return nodes;
}
function lineDetails(line) {
  if (line === null || !data.source[line]) return [];
  const [text, source] = data.source[line];
  const nodes = [make("h4", {}, `Line ${line}${source ? ` (${source})` : ""}`), make("pre", {}, text)];
  const sent = data.collectives.filter((each) => each[6] === line);
  if (sent.length) {
    nodes.push(make("h4", {}, "Collectives for this line"), make("dl", {}, ...sent.flatMap(([kind, axes, bytes, seconds, , , , , cause, details]) =>
      term(kind, ...axes.map((axis) => axisChip(axis)), ` ${bytesText(bytes)}, ${secondsText(seconds)}`,
        make("div", { class: "cause" }, `caused by ${cause}`), ...sentenceNodes(details)))));
  }
  const conflicts = data.conflicts.filter((each) => each[0] === line);
  if (conflicts.length) nodes.push(make("h4", {}, "Conflicts at this line"), ...conflicts.flatMap((site) => sentenceNodes(site[3])));
  return nodes;
}
function showDetails(number, value = null) {
  const row = rows[number], [, op, results, , line, sent] = row;
  document.querySelectorAll(".row.chosen").forEach((node) => node.classList.remove("chosen"));
  rowNodes.get(number)?.classList.add("chosen");
  const shown = value === null ? results : [value];
  const nodes = limited(shown).flatMap(valueDetails);
  if (!nodes.length) nodes.push(make("h3", { class: "mono" }, op));
  if (sent) {
    nodes.push(make("h4", {}, "Sends"), make("dl", {}, ...term(sent[0], make("span", { class: "mono" }, sent[1].replaceAll('"', ""))),
      ...term("each device", bytesText(sent[2]))));
  }
  byId("details").replaceChildren(...nodes, ...lineDetails(line));
  byId("details").classList.add("filled");
  byId("details").scrollTop = 0;
  keepInView(rowNodes.get(number));
}
function keepInView(node) {  // on a narrow page, the details cover its lower part
  const details = byId("details");
  if (!node || getComputedStyle(details).position !== "fixed") return;
  const hidden = node.getBoundingClientRect().bottom - details.getBoundingClientRect().top;
  if (hidden > -ROW_MARGIN) scrollBy({ top: hidden + ROW_MARGIN, behavior: "instant" });
}
function goToRow(number, value = null) {
  if (byId("search").value) { byId("search").value = ""; search(); }
  folds.find((fold) => fold.first <= number && number < fold.last)?.open();
  showDetails(number, value);
  rowNodes.get(number)?.scrollIntoView({ block: "center" });
}
function goToLine(line) {
  const found = rowsOfLine.get(line) ?? [];
  const sending = found.find((number) => rows[number][5]);
  if (found.length) goToRow(sending ?? found[0]);
}
function showTip(event) {
  const target = event.target.closest?.("[data-value]"), row = event.target.closest?.(".row[data-row]");
  const value = target ? Number(target.dataset.value) : row ? rows[Number(row.dataset.row)][2][0] : undefined;
  const tip = byId("tip");
  tip.hidden = value === undefined;
  if (tip.hidden) return;
  const [name, kindNumber, origins] = data.values[value], kind = data.kinds[kindNumber];
  tip.replaceChildren(make("div", { class: "mono" }, `${name}  `, ...typeNodes(kind)),
    make("div", { class: "mono" }, kind.sharding ?? "replicated"),
    make("div", {}, `local type: ${shortType(kind.local)}, ${bytesText(kind.bytes[1])} of ${bytesText(kind.bytes[0])}`),
    ...origins.map(([dim, axis, last]) => {
      const [, lineText, text] = stepsOf(last)[0];
      return make("div", {}, `dim ${dim} `, axisChip(axis), ` from ${lineText}, ${text}`);
    }));
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
}
