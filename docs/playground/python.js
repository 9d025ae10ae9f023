// The client of the worker that runs sdy. Questions and answers are those of sdy/tools/playground/answers.py.

let worker = null, nextId = 0;
const waiting = new Map();
const listeners = [];

// Calls `listener` with the stage of loading, which is empty once Python answers, and with whether loading failed.
export const onStage = (listener) => listeners.push(listener);
const report = (stage, isFailure = false) => listeners.forEach((listener) => listener(stage, isFailure));

export function start() {
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => {
    if ("stage" in data) report(data.stage);
    else if ("fatal" in data) report(data.fatal, true);
    else receive(data);
  };
  worker.onerror = (event) => report(event.message || "the worker cannot be loaded", true);
}

function receive({ id, answer, failure, isFatal }) {
  const { resolve } = waiting.get(id);
  waiting.delete(id);
  resolve(answer ?? { failure });
  if (!isFatal) return;
  worker.terminate();
  start();
  for (const [other, { question }] of waiting) worker.postMessage({ id: other, question });
}

// Returns the answer to a question: a document, {diagnostics} for an error of the user, {failure} for one of sdy.
export function ask(question) {
  return new Promise((resolve) => {
    const id = nextId++;
    waiting.set(id, { question, resolve });
    worker.postMessage({ id, question });
  });
}

// Returns a function that asks one question at a time. Of those that come while it waits, it only asks the last one;
// the others have the answer null.
export function newestOnly() {
  let isBusy = false, next = null;
  const run = async ({ question, resolve }) => {
    isBusy = true;
    const answer = await ask(question());
    isBusy = false;
    const following = next;
    next = null;
    if (following) run(following);
    resolve(following ? null : answer);
  };
  return (question) => new Promise((resolve) => {
    next?.resolve(null);
    next = null;
    if (isBusy) next = { question, resolve };
    else run({ question, resolve });
  });
}
