// Overview, memory over time, collectives, conflicts.
const cost = data.cost;
function showOverview() {
  byId("file").textContent = data.file || "program";
  document.title = `${data.file || "program"}: sharding report`;
  const sent = data.collectives.reduce((sum, each) => sum + each[2], 0), total = cost.seconds_in_turn || 1;
  byId("head").append(...sentenceNodes(data.head));
  byId("cards").append(
    card(secondsText(cost.seconds_in_turn), `total on ${cost.hardware}, computation and communication in turn (without overlap)`),
    card(secondsText(cost.seconds_overlapped), "total if both overlap completely"),
    card(secondsText(cost.op_seconds), "computation", cost.op_seconds / total),
    card(secondsText(cost.communication_seconds), "communication", cost.communication_seconds / total, "var(--bad)"),
    card(bytesText(sent), `sent by each device, ${countText(data.collectives.length, "collective")}`),
    card(bytesText(cost.peak_bytes), `peak of ${bytesText(cost.free_bytes)}: ${cost.fits ? "fits" : "does not fit"}`,
      cost.peak_bytes / cost.free_bytes, cost.fits ? "var(--good)" : "var(--bad)"),
    card(String(data.conflicts.length), data.conflicts.length === 1 ? "op with conflicts" : "ops with conflicts"));
  byId("meshes").append(...data.meshes.map((mesh) => make("span", { class: "mesh" }, `@${mesh.name}`,
    ...mesh.axes.map(([name, size]) => axisChip([name, `${name} ${size}`])),
    countText(mesh.devices, "device"), mesh.order.length ? ` in the order ${mesh.order.slice(0, 16).join(", ")}${mesh.order.length > 16 ? ", …" : ""}` : "")));
  if (!data.meshes.length) byId("meshes").append("no mesh: one device");
  showShares();
  if (data.remarks.length) {
    byId("remarks").append(make("details", {}, make("summary", {}, countText(data.remarks.length, "remark")),
      make("div", { class: "scroll short" }, ...data.remarks.map((text) => make("pre", {}, text)))));
  }
}
function showShares() {
  const seconds = new Map([["compute", cost.op_seconds]]);
  cost.collectives.forEach((each) => seconds.set(each.kind, (seconds.get(each.kind) ?? 0) + each.seconds));
  const parts = [...seconds].filter(([, value]) => value > 0);
  const all = parts.reduce((sum, [, value]) => sum + value, 0);
  const tone = (kind) => KIND_TONES[kind] ?? "#6b7686";
  if (!parts.length) return;
  byId("shares").append(
    make("div", { class: "bar" }, ...parts.map(([kind, value]) => make("span",
      { style: `flex:${value / all};background:${tone(kind)}`, title: `${kind} ${secondsText(value)}` }, kind))),
    make("div", { class: "key" }, ...parts.map(([kind, value]) => make("span", {},
      make("i", { style: `background:${tone(kind)}` }), `${kind} ${secondsText(value)}`))));
  addEventListener("load", hideLabelsThatDoNotFit);
  new ResizeObserver(hideLabelsThatDoNotFit).observe(byId("shares"));
}
function hideLabelsThatDoNotFit() {  // the key below the bar names all parts
  for (const part of byId("shares").querySelectorAll(".bar span")) {
    part.classList.remove("narrow");
    part.classList.toggle("narrow", part.scrollWidth > part.clientWidth);
  }
}

function showCurve() {
  const { points, peak, seconds } = data.memory;
  byId("memory-note").textContent = `live bytes on one device while ops run one after another on ${cost.hardware}`;
  const width = Math.max(480, byId("curve").clientWidth), height = 230, left = 62, bottom = 22, top = 26;
  const end = seconds || 1, fullest = peak[1] || 1, ceiling = fullest * 1.12;
  const x = (time) => left + (time / end) * (width - left - 8), y = (bytes) => height - bottom - (bytes / ceiling) * (height - bottom - top);
  const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Live bytes over time" });
  for (let part = 0; part <= 4; part++) {
    const bytes = (fullest * part) / 4;
    svg.append(makeSvg("line", { class: "grid", x1: left, x2: width, y1: y(bytes), y2: y(bytes) }),
      makeSvg("text", { x: left - 8, y: y(bytes) + 4, "text-anchor": "end" }, bytesText(bytes)),
      makeSvg("text", { x: x((end * part) / 4), y: height - 6, "text-anchor": part === 0 ? "start" : part === 4 ? "end" : "middle" },
        secondsText((end * part) / 4)));
  }
  let edge = "";
  points.forEach(([time, bytes], index) => { edge += `${index ? `H${x(time)}V` : `M${x(time)} `}${y(bytes)}`; });
  edge += `H${x(end)}`;
  svg.append(makeSvg("path", { class: "area", d: `${edge}V${y(0)}H${x(points[0][0])}Z` }), makeSvg("path", { class: "edge", d: edge }));
  if (cost.free_bytes <= ceiling) svg.append(makeSvg("line", { class: "limit", x1: left, x2: width, y1: y(cost.free_bytes), y2: y(cost.free_bytes) }));
  const late = peak[0] > end / 2;
  svg.append(makeSvg("circle", { class: "mark", cx: x(peak[0]), cy: y(peak[1]), r: 5 }),
    makeSvg("text", { class: "strong", x: x(peak[0]) + (late ? -10 : 10), y: y(peak[1]) - 8, "text-anchor": late ? "end" : "start" },
      `peak ${bytesText(peak[1])} at ${peak[2].replace(/^stablehlo\./, "")}${peak[3] === null ? "" : `, line ${peak[3]}`}`));
  const cursor = makeSvg("line", { class: "cursor", y1: top, y2: height - bottom, visibility: "hidden" });
  svg.append(cursor);
  const pointAt = (event) => {
    const box = svg.getBoundingClientRect(), time = (((event.clientX - box.left) / box.width) * width - left) / (width - left - 8) * end;
    return points.findLast((point) => point[0] <= time) ?? points[0];
  };
  svg.addEventListener("mousemove", (event) => {
    const [time, bytes, op, line] = pointAt(event), tip = byId("tip");
    for (const side of ["x1", "x2"]) cursor.setAttribute(side, x(time));
    cursor.setAttribute("visibility", "visible");
    tip.hidden = false;
    tip.replaceChildren(make("div", {}, `${bytesText(bytes)} live at ${secondsText(time)}`), make("div", { class: "mono" }, `${op}${line === null ? "" : `, line ${line}`}`));
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 300)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
  svg.addEventListener("mouseleave", () => { byId("tip").hidden = true; cursor.setAttribute("visibility", "hidden"); });
  svg.addEventListener("click", (event) => { const line = pointAt(event)[3]; if (line !== null) goToLine(line); });
  byId("curve").replaceChildren(svg);
  const label = svg.querySelector(".strong"), box = label.getBBox();
  if (box.x < 0 || box.x + box.width > width) {
    label.setAttribute("text-anchor", "start");
    label.setAttribute("x", Math.max(0, width - box.width));
  }
}
function showPeak() {
  const { peak, values, value_count: count } = data.memory, fullest = peak[1] || 1;
  byId("peak").querySelector("summary").textContent = `${countText(count, "value")} live at the peak${count > values.length ? `, the ${values.length} largest` : ""}`;
  byId("peak").querySelector("table").append(make("tbody", {}, ...values.map(([name, type, bytes, line]) => make("tr", {},
    make("td", { class: "mono" }, name), make("td", { class: "mono" }, shortType(type)),
    make("td", {}, line === null ? "" : lineButton(line)),
    make("td", { class: "number" }, bytesText(bytes), make("span", { class: "meter", style: `--share:${(100 * bytes) / fullest}%` }))))));
}

// What a reader needs first comes first: a narrow screen shows only some columns.
const COLUMNS = [["kind", 0], ["time", 3], ["source", 6], ["cause", 8], ["axes", 1], ["bytes sent", 2], ["runs", 4], ["bound by", 5]];
const collectiveTexts = data.collectives.map(([kind, axes, , , , , line, source, cause]) =>
  plain(`${kind} ${axes.map((axis) => axis[1]).join(" ")} line ${line} ${source} ${cause}`));
let order = { column: 3, falls: true };
function showCollectives(words = []) {
  const section = byId("collectives"), table = section.querySelector("table");
  const found = data.collectives.map((each, index) => [each, index]).filter(([, index]) => matches(collectiveTexts[index], words));
  const key = (each) => (order.column === 1 ? each[1].map((axis) => axis[1]).join() : each[order.column]);
  found.sort(([a], [b]) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (order.falls ? -1 : 1));
  section.querySelector(".count").textContent = found.length === data.collectives.length
    ? `${found.length}, ${secondsText(cost.communication_seconds)} in total` : `${found.length} of ${data.collectives.length}`;
  if (!data.collectives.length) { table.replaceChildren(make("tbody", {}, make("tr", {}, make("td", { class: "none" }, "None: the devices do not communicate.")))); return; }
  const longest = Math.max(...data.collectives.map((each) => each[3])) || 1;
  const head = COLUMNS.map(([title, column]) => make("th", { class: `${[2, 3, 4].includes(column) ? "number" : ""}${order.column === column ? " chosen" : ""}` },
    make("button", { type: "button", onclick: () => {
      order = { column, falls: order.column === column ? !order.falls : [2, 3, 4].includes(column) };
      showCollectives(queryWords());
    } }, title, order.column === column ? (order.falls ? " ↓" : " ↑") : "")));
  table.replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...found.map(([[kind, axes, bytes, seconds, runs, latency, line, source, cause], index]) =>
    make("tr", {}, make("td", {}, kind),
      make("td", { class: "number" }, secondsText(seconds), make("span", { class: "meter", style: `--share:${(100 * seconds) / longest}%` })),
      make("td", {}, line === null ? "" : lineButton(line, source || `line ${line}`)),
      make("td", {}, make("button", { class: "link", type: "button", onclick: () => showCollective(index) }, cause.replace(/^(an?|the) /, ""))),
      make("td", {}, ...axes.map((axis) => axisChip(axis))), make("td", { class: "number" }, bytesText(bytes)),
      make("td", { class: "number" }, String(runs)), make("td", { class: "dim" }, latency ? "latency" : "bandwidth")))));
}
// Why a collective is there: its causes, whose lines lead to the program.
function showCollective(index) {
  const [kind, axes, bytes, seconds, , , line, source, cause, details] = data.collectives[index];
  byId("details").replaceChildren(
    make("h3", {}, kind, " ", ...axes.map((axis) => axisChip(axis))),
    make("dl", {}, ...term("each device sends", bytesText(bytes)), ...term("time", secondsText(seconds)),
      ...term("source", line === null ? "" : lineButton(line, source || `line ${line}`)), ...term("cause", cause)),
    ...details.map((text) => {
      const place = /^(\s*)(line (\d+)(?: \([^)]*\))?)(.*)$/.exec(text);
      return make("p", { class: text.startsWith(" ") ? "why" : "" }, ...(place ? [lineButton(Number(place[3]), place[2]), place[4]] : [text.trim()]));
    }));
}

// What other partitioners make of the program, where the page was made with a comparison.
const outcomeText = ({ statistics, problem, outputs }) => {
  if (problem) return statistics ? "not compared" : "failed";
  const wrong = outputs.filter((each) => !each.agrees).length;
  return wrong ? `${wrong} of ${outputs.length} differ` : "agree";
};
function showPartitioners() {
  const section = byId("partitioners"), found = data.partitioners;
  if (!found.length) return;
  [section, document.querySelector('nav a[href="#partitioners"]')].forEach((node) => { node.hidden = false; });
  const runs = (kind) => ({ collectives }) => collectives[kind] ? `${collectives[kind].runs}, ${bytesText(collectives[kind].bytes_sent)}` : "0";
  const lines = [...Object.keys(KIND_TONES).map((kind) => [kind, runs(kind)]), ["bytes sent", (each) => bytesText(each.bytes_sent)],
    ["FLOPs of products", (each) => each.flops.toLocaleString("en")], ["peak memory", (each) => bytesText(each.peak_bytes)]];
  const row = (title, cells) => make("tr", {}, make("td", {}, title), ...cells.map((text) => make("td", { class: "number" }, text)));
  section.querySelector("table").append(
    make("thead", {}, make("tr", {}, make("th", {}, "collectives: runs, bytes sent"), ...found.map((each) => make("th", { class: "number" }, each.partitioner)))),
    make("tbody", {}, ...lines.map(([title, text]) => row(title, found.map(({ statistics }) => statistics ? text(statistics) : ""))),
      row("results, compared with one device", found.map(outcomeText))));
  section.querySelector(".list").append(...found.filter((each) => each.problem).map((each) => make("p", { class: "none" }, `${each.partitioner}: ${each.problem}`)));
}

const sentenceNodes = (sentences) => sentences.map((text) => make("p", { class: text.startsWith(" ") ? "why" : "" }, text.trim()));
const conflictTexts = data.conflicts.map(([, lineText, op, sentences]) => plain(`${lineText} ${op} ${sentences.join(" ")}`));
function showConflicts(words = []) {
  const section = byId("conflicts"), found = data.conflicts.filter((_, index) => matches(conflictTexts[index], words));
  section.querySelector(".count").textContent = found.length === data.conflicts.length ? `${found.length}` : `${found.length} of ${data.conflicts.length}`;
  const sites = found.map(([line, lineText, op, sentences]) => make("div", { class: "site" },
    line === null ? lineText : lineButton(line, lineText), make("span", { class: "mono" }, `  ${op}`), ...sentenceNodes(sentences)));
  const none = make("p", { class: "none" }, "None: the tensors of every op have compatible shardings.");
  section.querySelector(".list").replaceChildren(...(data.conflicts.length ? sites : [none]));
}
