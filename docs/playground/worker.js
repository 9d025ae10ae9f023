// Runs sdy in Pyodide, in a worker, so that the page stays responsive.
// Receives {id, question}; sends {stage}, then {id, answer} or {id, failure} for each question, or {fatal}.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const SITE_PACKAGES = "/lib/python3.14/site-packages";
const ANSWER = "from sdy.tools.playground.answers import answer\nanswer";

const show = (stage) => postMessage({ stage });
const bytesOf = async (url) => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
};

async function start() {
  show("Loading Python");
  const { wheels } = await (await fetch("manifest.json")).json();
  const downloads = wheels.map((name) => bytesOf(`wheels/${name}`));
  const pyodide = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  show("Loading sdy");
  for (const wheel of await Promise.all(downloads)) pyodide.unpackArchive(wheel, "zip", { extractDir: SITE_PACKAGES });
  show("Starting sdy");
  const answer = pyodide.runPython(ANSWER);
  show("");
  return answer;
}

const started = start();
started.catch((error) => postMessage({ fatal: String(error) }));
// A failure is an error in sdy itself: errors of the user are answers. Without more stack, Python cannot go on.
onmessage = async ({ data: { id, question } }) => {
  const answer = await started;
  try {
    postMessage({ id, answer: JSON.parse(answer(JSON.stringify(question))) });
  } catch (error) {
    const lines = String(error.message).trim().split("\n");
    postMessage({ id, failure: lines.at(-1), isFatal: error.name !== "PythonError" });
  }
};
