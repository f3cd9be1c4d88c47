// @ts-check
/** A training while it runs: its curves, and its validation translations changing. */
import { get, tellRefusal } from "regard/api.js";
import { lineChart } from "regard/chart.js";
import { element } from "regard/dom.js";
import { fromHash, toHash } from "regard/hash.js";

/**
 * @typedef {{ source: string, reference: string, translation: string }} Shown
 * @typedef {{ step: number, loss: number, bleu: number | null, is_best: boolean, translations: Shown[] }} Validation
 * @typedef {{ steps: { step: number[], loss: number[], tokens_per_second: number[] }, validations: Validation[] }} History
 */
const EVERY = 5000;
const START = { run: "", step: 0 };
let state = fromHash(location.hash, START);

const node = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const runBox = /** @type {HTMLSelectElement} */ (node("run"));
const stepBox = /** @type {HTMLSelectElement} */ (node("validation"));

/** @param {Partial<typeof state>} change */
function remember(change) {
  state = { ...state, ...change };
  history.replaceState(null, "", `#${toHash(state, START)}`);
}

/** @param {History} found */
function show({ steps, validations }) {
  const last = steps.step.length - 1;
  node("standing").textContent =
    last < 0 ? "no step yet" : `step ${steps.step[last].toLocaleString("en")}, ${Math.round(steps.tokens_per_second[last]).toLocaleString("en")} tokens/s`;
  const of = (/** @type {(v: Validation) => number} */ value) => ({ x: validations.map(({ step }) => step), y: validations.map(value) });
  node("loss").replaceChildren(
    lineChart(
      [
        { name: "training", x: steps.step, y: steps.loss },
        ...(validations.length ? [{ name: "validation", ...of(({ loss }) => loss) }] : []),
      ],
      { x: "step", y: "loss, nats a piece", height: 280 },
    ),
  );
  const scored = validations.filter(({ bleu }) => bleu !== null);
  node("bleu").replaceChildren(
    scored.length
      ? lineChart([{ name: "BLEU", x: scored.map(({ step }) => step), y: scored.map(({ bleu }) => bleu ?? 0) }], { x: "step", y: "BLEU", height: 220, fromZero: true })
      : element("p", { class: "quiet", text: "no BLEU was computed yet" }),
  );
  showTranslations(validations);
}

/** @param {Validation[]} validations */
function showTranslations(validations) {
  const chosen = validations.find(({ step }) => step === state.step) ?? validations[validations.length - 1];
  stepBox.replaceChildren(
    ...validations.map(({ step, is_best }) =>
      element("option", { value: step, text: `${step.toLocaleString("en")}${is_best ? ", best so far" : ""}` }),
    ),
  );
  if (chosen) stepBox.value = String(chosen.step);
  node("translations").replaceChildren(
    ...(chosen?.translations ?? []).map(({ source, reference, translation }) =>
      element("tr", {}, [source, reference, translation].map((text) => element("td", { dir: "auto", text }))),
    ),
  );
}

/** @type {History | null} */
let found = null;

/** @param {string} line */
function say(line) {
  node("status").textContent = line;
}

async function refresh() {
  const { run } = state;
  if (!run) return;
  try {
    const history = /** @type {History} */ (await get(`/runs/${encodeURIComponent(run)}`));
    // Another run may have been chosen while this one's log was read.
    if (run !== state.run) return;
    found = history;
    show(found);
    say("");
  } catch (error) {
    if (run === state.run) tellRefusal(error, say);
  }
}

/** Leave nothing of another run under the name of this one. */
function clear() {
  found = null;
  for (const id of ["standing", "status", "loss", "bleu", "validation", "translations"]) node(id).replaceChildren();
}

async function begin() {
  /** @type {{ name: string }[]} */
  let runs;
  try {
    runs = await get("/runs");
  } catch (error) {
    return tellRefusal(error, say);
  }
  if (!runs.some(({ name }) => name === state.run)) state.run = runs[0]?.name ?? "";
  runBox.replaceChildren(...runs.map(({ name }) => element("option", { value: name, text: name })));
  runBox.value = state.run;
  if (!runs.length) say("no run is served; start the server with --runs DIR");
  runBox.addEventListener("change", () => {
    remember({ run: runBox.value, step: 0 });
    clear();
    void refresh();
  });
  stepBox.addEventListener("change", () => {
    remember({ step: Number(stepBox.value) });
    if (found) showTranslations(found.validations);
  });
  await refresh();
  setInterval(() => document.visibilityState === "visible" && refresh(), EVERY);
}

await begin();
