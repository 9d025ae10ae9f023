// The data of the program: its rows, and the text of each row that the search looks at.
const data = JSON.parse(document.getElementById("data").textContent);
const MOST_FOUND = 400, CHUNK = 100, MOST_RESULTS = 8, SHORT_PERIOD = 40;
setAxisNames(data.meshes.flatMap((mesh) => mesh.axes.map(([name]) => name)));

// A search for "all-reduce" also finds all_reduce.
const plain = (text) => text.toLowerCase().replaceAll("_", "-");

// ---- rows of the program --------------------------------------------------------------------------------------
// A row is [depth, op, results, operands, line, sent]; a value [name, kind, origins, label].
const rows = [], rowOfValue = new Map(), rowsOfLine = new Map(), rowNodes = new Map();
data.functions.forEach((func) => {
  func.first = rows.length;
  func.rows.forEach((row) => {
    const number = rows.push(row) - 1;
    row[2].forEach((value) => rowOfValue.set(value, number));
    if (row[4] !== null) rowsOfLine.set(row[4], [...(rowsOfLine.get(row[4]) ?? []), number]);
  });
  func.last = rows.length;
});
const valueText = (value) => {
  const [name, kind, , label] = data.values[value], shape = data.kinds[kind];
  return `${name} ${label} ${shape.type} ${shape.sharding ?? ""} ${shape.local}`;
};
const rowText = ([, op, results, operands, line, sent]) =>
  plain([op, ...results.map(valueText), ...operands.map((value) => data.values[value][0]), line === null ? "" : `line ${line}`,
    line === null ? "" : data.source[line]?.[1] ?? "", ...(sent ?? [])].join(" "));
const rowTexts = rows.map(rowText);
