// @ts-check
/** The ideas of the lectures, each asked of the package through the API and only drawn here. */
import { get, post, tellRefusal } from "regard/api.js";
import { NO_ATTENTION } from "regard/attention-view.js";
import { lineChart, scatter } from "regard/chart.js";
import { ramp } from "regard/colours.js";
import { element } from "regard/dom.js";
import { drawThumbnail } from "regard/heat-map.js";
import { matrixTable } from "regard/matrix-table.js";
import { weatherMap } from "regard/weather-map.js";

/**
 * @typedef {import("regard/attention-view.js").AttentionView} AttentionView
 * @typedef {{ name: string, task: string, bleu: number, flops: number | null, is_measured: boolean, title?: string,
 *   sentence?: string, translation?: string, attention?: import("regard/weights.js").Wire | null, model?: string | null }} System
 * @typedef {number[][]} Matrix
 */
const SENTENCES = ["I arrived at the bank after crossing the street.", "I arrived at the bank after crossing the river."];
const FRENCH = ["Jane aime le livre.", "Jane cherche le livre ici."];

/**
 * A part of a panel.
 * @template {Element} [Kind=HTMLElement]
 * @param {string} panel
 * @param {string} selector
 * @returns {Kind}
 */
function part(panel, selector) {
  const found = document.querySelector(`#${panel} ${selector}`);
  if (!found) throw new Error(`the page has no #${panel} ${selector}`);
  return /** @type {Kind} */ (found);
}

/**
 * @param {string} panel
 * @returns {(line: string) => void} tells what went wrong below the panel's text
 */
function saying(panel) {
  return (line) => (part(panel, ".status").textContent = line);
}

/**
 * One question at a time: the newest answer is shown, what was asked before it is not.
 * @template Answer
 * @param {string} panel which is told what is refused
 * @param {(signal: AbortSignal) => Promise<Answer>} ask
 * @param {(answer: Answer) => void} show
 * @param {() => void} [clear] what is shown, where it is no answer to what is asked now
 * @returns {() => void}
 */
function asking(panel, ask, show, clear = () => {}) {
  let asked = new AbortController();
  return async () => {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    const say = saying(panel);
    try {
      show(await ask(signal));
      say("");
    } catch (error) {
      if (signal.aborted) return;
      clear();
      tellRefusal(error, say);
    }
  };
}

function weather() {
  /** @type {[number, number]} */
  let query = [0, 0];
  const map = weatherMap((moved) => {
    query = moved;
    ask();
  });
  const table = element("div");
  part("weather", ".drawing").append(map.node, table);
  const ask = asking(
    "weather",
    (signal) => post("/ideas/weather", { query }, { signal }),
    (answer) => {
      map.show(answer);
      const stations = /** @type {import("regard/weather-map.js").Station[]} */ (answer.stations);
      const rows = stations.map((s) => [s.score, s.temperature, s.humidity, s.weight]);
      table.replaceChildren(
        matrixTable(rows, { columnNames: ["score", "°C", "% humidity", "weight"], rowNames: rows.map(() => ""), digits: [1, 0, 0, 3] }),
      );
      const [temperature, humidity] = answer.estimate;
      part("weather", ".estimate").textContent =
        `Here it is about ${temperature.toFixed(1)} °C, with ${humidity.toFixed(1)} % humidity.`;
    },
  );
  ask();
}

function byHand() {
  /** @type {Matrix} */
  let inputs = [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]];
  const scaled = /** @type {HTMLInputElement} */ (part("by-hand", ".scaled"));
  const ask = asking(
    "by-hand",
    (signal) => post("/ideas/by-hand", { inputs, score: scaled.checked ? "scaled" : "dot" }, { signal }),
    (answer) => {
      const edit = (/** @type {number} */ i, /** @type {number} */ j, /** @type {number} */ value) => {
        inputs = inputs.map((row, r) => row.map((old, c) => (r === i && c === j ? value : old)));
        ask();
      };
      part("by-hand", ".drawing").replaceChildren(
        matrixTable(answer.inputs, { caption: "inputs", onEdit: edit }),
        matrixTable(answer.queries, { caption: "queries" }),
        matrixTable(answer.keys, { caption: "keys" }),
        matrixTable(answer.values, { caption: "values" }),
        matrixTable(answer.scores, { caption: scaled.checked ? "scores QKᵀ/√3" : "scores QKᵀ" }),
        matrixTable(answer.weights, { caption: "weights", isShaded: true, digits: 3 }),
        matrixTable(answer.outputs, { caption: "outputs", digits: 4 }),
      );
    },
  );
  scaled.addEventListener("change", ask);
  ask();
}

function positions() {
  asking(
    "positions",
    (signal) => get("/ideas/positions", { signal }),
    (answer) => {
      const rows = /** @type {Matrix} */ (answer.sinusoids);
      const canvas = element("canvas", { class: "sinusoids", role: "img", "aria-label": "sinusoids: a row a position, a column a channel" });
      const values = Float32Array.from(rows.flat(), (value) => (value + 1) / 2);
      drawThumbnail(canvas, { rows: rows.length, columns: rows[0].length, values }, ramp());
      const names = /** @type {Record<string, string>} */ ({
        sinusoid: "sinusoids: one curve, wherever it begins",
        fraction: "rejected: a number between 0 and 1",
        integer: "rejected: the number of the position",
      });
      const charts = Object.entries(/** @type {Record<string, Matrix>} */ (answer.products)).map(([kind, curves]) =>
        element("div", {}, [
          element("h3", { text: names[kind] ?? kind }),
          lineChart(
            curves.map((y, i) => ({ name: `from position ${answer.starts[i]}`, x: [...y.keys()], y })),
            { x: "distance", y: "PE(p) · PE(p + distance)", height: 190 },
          ),
        ]),
      );
      part("positions", ".drawing").replaceChildren(
        canvas,
        element("p", { class: "quiet small", text: "Rows are positions 0 to 63, columns the 64 channels." }),
        ...charts,
      );
    },
  )();
}

function masks() {
  const lookAhead = /** @type {HTMLInputElement} */ (part("masks", ".look-ahead"));
  const padding = /** @type {HTMLInputElement} */ (part("masks", ".padding"));
  const ask = asking(
    "masks",
    (signal) => post("/ideas/masks", { look_ahead: lookAhead.checked, padding: padding.checked }, { signal }),
    (answer) => {
      const weights = /** @type {Matrix} */ (answer.weights);
      part("masks", ".drawing").replaceChildren(
        matrixTable(
          weights.map((row, i) => row.map((weight, j) => (answer.mask[i][j] ? weight : null))),
          { rowNames: answer.words, columnNames: answer.words, isShaded: true },
        ),
      );
    },
    () => part("masks", ".drawing").replaceChildren(),
  );
  lookAhead.addEventListener("change", ask);
  padding.addEventListener("change", ask);
  ask();
}

/** @param {string[]} names of the models */
function heads(names) {
  const [model, kind] = ["model", "kind"].map((name) => /** @type {HTMLSelectElement} */ (part("heads", `.${name}`)));
  const sentence = /** @type {HTMLInputElement} */ (part("heads", ".sentence"));
  model.replaceChildren(...names.map((text) => element("option", { value: text, text })));
  const ask = asking(
    "heads",
    (signal) => post("/ideas/heads", { q: sentence.value, model: model.value }, { signal }),
    (answer) => {
      const found = answer[kind.value] ?? {};
      const tables = Object.entries(/** @type {Record<string, Matrix>} */ (found)).map(([name, rows]) =>
        matrixTable(rows, {
          caption: name,
          isShaded: true,
          rowNames: rows.map((_, i) => `layer ${i + 1}`),
          columnNames: rows[0].map((_, i) => `${i + 1}`),
        }),
      );
      const text = Object.keys(answer).length ? `this model has no ${kind.value} attention` : NO_ATTENTION;
      const none = element("p", { class: "quiet", text });
      part("heads", ".drawing").replaceChildren(element("div", { class: "matrices" }, tables.length ? tables : [none]));
    },
    () => part("heads", ".drawing").replaceChildren(),
  );
  for (const box of [model, kind, sentence]) box.addEventListener("change", ask);
  ask();
}

/** @param {{ name: string, source: string }[]} models */
function contexts(models) {
  const boxes = ["first", "second", "word"].map((name) => /** @type {HTMLInputElement} */ (part("contexts", `.${name}`)));
  const isEnglish = models[0]?.source === "en";
  [...(isEnglish ? SENTENCES : FRENCH), isEnglish ? "bank" : "livre"].forEach((text, i) => (boxes[i].value = text));
  const ask = asking(
    "contexts",
    (signal) => {
      const [first, second, word] = boxes.map((box) => box.value);
      const model = /** @type {HTMLSelectElement} */ (part("heads", ".model")).value;
      return post("/ideas/contexts", { first, second, word, model }, { signal });
    },
    (answer) =>
      part("contexts", ".drawing").replaceChildren(
        lineChart([{ name: answer.word, x: [...answer.cosines.keys()], y: answer.cosines }], {
          x: "layer (0: before the first)",
          y: "cosine of the two vectors",
          height: 240,
        }),
      ),
    () => part("contexts", ".drawing").replaceChildren(),
  );
  for (const box of boxes) box.addEventListener("change", ask);
  part("heads", ".model").addEventListener("change", ask);
  ask();
}

async function road() {
  const { systems } = /** @type {{ systems: System[] }} */ (await get("/ideas/road"));
  const tasks = [...new Set(systems.map(({ task }) => task))];
  const box = /** @type {HTMLSelectElement} */ (part("road", ".task"));
  box.replaceChildren(...tasks.map((task) => element("option", { value: task, text: task })));
  const view = /** @type {AttentionView} */ (part("road", "attention-view"));
  const looked = async (/** @type {System} */ { sentence, model, attention }) => {
    if (!model || !sentence) return attention;
    const answer = await post("/attend", { q: sentence, model });
    return answer.sentences[0]?.attention;
  };
  /** @type {System | null} */
  let chosen = null;
  const choose = async (/** @type {System} */ system) => {
    chosen = system;
    const { name, title, bleu, flops, sentence, translation } = system;
    const cost = flops ? ` for ${flops.toExponential(1)} FLOPs` : "";
    part("road", ".reading").textContent = `${title || name}: ${bleu.toFixed(1)} BLEU${cost}.`;
    part("road", ".shown").textContent = sentence ? `${sentence} → ${translation}` : "";
    let refusal = "";
    const data = await looked(system).catch((error) => {
      tellRefusal(error, (line) => (refusal = line));
      return system.attention;
    });
    if (system !== chosen) return;
    saying("road")(refusal);
    view.hidden = !data || !Object.keys(data.kinds).length;
    if (data) view.data = data;
  };
  const show = () => {
    const shown = systems.filter(({ task }) => task === box.value);
    const points = shown.map(({ name, bleu, flops, is_measured }) => ({ name, x: flops, y: bleu, isFilled: is_measured }));
    part("road", ".drawing").replaceChildren(
      scatter(points, { x: "training FLOPs", y: "BLEU", isLog: true, height: 380 }, (i) => choose(shown[i])),
    );
  };
  box.addEventListener("change", show);
  show();
}

weather();
byHand();
positions();
masks();
road().catch((error) => tellRefusal(error, saying("road")));
try {
  const models = /** @type {{ name: string, source: string }[]} */ (await get("/models"));
  heads(models.map(({ name }) => name));
  contexts(models);
} catch (error) {
  for (const panel of ["heads", "contexts"]) tellRefusal(error, saying(panel));
}
