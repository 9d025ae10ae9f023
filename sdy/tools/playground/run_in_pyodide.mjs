// Runs a Python program in Pyodide, which sees a folder of this machine as /wheels:
//   node run_in_pyodide.mjs PYODIDE_FOLDER WHEEL_FOLDER PROGRAM
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodideFolder, wheelFolder, program] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(join(pyodideFolder, "pyodide.mjs")));
const pyodide = await loadPyodide();
pyodide.mountNodeFS("/wheels", wheelFolder);
pyodide.runPython(readFileSync(program, "utf-8"));
