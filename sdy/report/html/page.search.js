// Search, keyboard and mouse events, and the initial display of all sections.
const queryWords = () => plain(byId("search").value).match(/line \d+|\S+/g) ?? [];
// "line 1" must not match "line 12".
const matches = (text, words) => words.every((word) => word.startsWith("line ")
  ? new RegExp(`${word}(?!\\d)`).test(text) : text.includes(word));
function showProgram(words = []) {
  const section = byId("program"), total = rows.length;
  rowNodes.clear();
  folds.length = 0;
  if (!words.length) {
    section.querySelector(".count").textContent = countText(total, "row");
    byId("rows").replaceChildren(rowHead(), ...data.functions.flatMap((func, index) => functionNodes(func, index === 0)));
    return;
  }
  const found = rowTexts.flatMap((text, number) => (matches(text, words) ? [number] : []));
  section.querySelector(".count").textContent = `${found.length} of ${total}${found.length > MOST_FOUND ? `, the first ${MOST_FOUND}` : ""}`;
  byId("rows").replaceChildren(rowHead(), ...found.slice(0, MOST_FOUND).map(rowNode));
}
function search() {
  const words = queryWords();
  document.body.classList.toggle("searching", words.length > 0);
  showCollectives(words);
  showConflicts(words);
  showProgram(words);
}

let waiting = 0;
byId("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 80); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== byId("search")) { event.preventDefault(); byId("search").focus(); }
  if (event.key === "Escape" && byId("search").value) { byId("search").value = ""; search(); }
});
byId("rows").addEventListener("click", (event) => {
  const value = event.target.closest("[data-value]"), row = event.target.closest(".row[data-row]");
  if (value) {
    const number = Number(value.dataset.value), home = rowOfValue.get(number);
    if (row && Number(row.dataset.row) === home) showDetails(home, number);
    else goToRow(home, number);
  } else if (row) showDetails(Number(row.dataset.row));
});
byId("rows").addEventListener("mousemove", showTip);
byId("rows").addEventListener("mouseleave", () => { byId("tip").hidden = true; });
const setTheme = (theme) => document.documentElement.setAttribute("data-theme", theme);
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

showOverview();
showCurve();
showPeak();
showPartitioners();
search();
let resizing = 0;
addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(showCurve, 100); });
const times = data.collectives.map((each) => each[3]);
if (times.length) showCollective(times.indexOf(Math.max(...times)));
else byId("details").append(make("p", { class: "none" }, "Select a row of the program to see its sharding, its local type and the origin of each of its axes."));
