// @ts-check
/** The page that translates, and shows where the model looked. */
import { get, post, send, stream, tellRefusal } from "regard/api.js";
import { START } from "regard/attention-view.js";
import { drawTree, markNode } from "regard/beam-tree.js";
import { Decoding } from "regard/decoding.js";
import { download, element } from "regard/dom.js";
import { fromHash, toHash } from "regard/hash.js";

/**
 * @typedef {import("regard/attention-view.js").AttentionView} AttentionView
 * @typedef {{ name: string, source: string, target: string, beam: number }} Model
 * @typedef {{ text: string, model: string, sentences: { text: string, source: string, attention: import("regard/weights.js").Wire }[] }} Attended
 */
const TYPING = 350;
const BEAMS = [1, 2, 4, 8];
const PAGE_START = { ...START, q: "", model: "", other: "", beam: 0, prefix: "", sentence: 0, step: 0 };

/**
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
function at(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

const source = at("source", HTMLTextAreaElement);
const target = at("target", HTMLTextAreaElement);
const modelBox = at("model", HTMLSelectElement);
const otherBox = at("other", HTMLSelectElement);
const beamBox = at("beam", HTMLSelectElement);
const stepBox = at("step", HTMLInputElement);
const status = at("status", HTMLElement);
const view = /** @type {AttentionView} */ (at("view", HTMLElement));
const otherView = /** @type {AttentionView} */ (at("other-view", HTMLElement));

/** @type {Model[]} */
let models = [];
/** @type {Map<number, Decoding>} */
let decodings = new Map();
/** What was asked for the picture that is shown, and the sentence that it shows. */
let shown = { body: {}, sentence: "" };
let state = fromHash(location.hash, PAGE_START);
let asking = new AbortController();
let timer = 0;

/** @param {Partial<typeof state>} change */
function remember(change) {
  state = { ...state, ...change };
  const hash = toHash(state, PAGE_START);
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}

/**
 * @param {string} line
 * @param {boolean} [isWrong]
 */
function say(line, isWrong = false) {
  status.textContent = line;
  status.classList.toggle("wrong", isWrong);
}

/**
 * @param {string} model
 * @param {object} [more]
 */
function request(model, more = {}) {
  const { q, prefix, beam } = state;
  return { q, model, ...(beam ? { beam } : {}), ...(prefix ? { prefix } : {}), ...more };
}

async function translate() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  if (!state.q.trim()) {
    target.value = "";
    at("found", HTMLElement).hidden = true;
    return say("");
  }
  say("translating …");
  clearSteps();
  try {
    const body = request(state.model);
    const others = state.other ? [post("/attend", request(state.other), { signal })] : [];
    const [answer, beside] = await Promise.all([post("/attend", body, { signal }), ...others]);
    show(body, answer, beside);
    at("request", HTMLElement).textContent = `POST /attend\n${JSON.stringify(body, null, 2)}`;
    at("response", HTMLElement).textContent = JSON.stringify(answer, null, 2).slice(0, 4000);
    say("");
    await follow(signal);
  } catch (error) {
    if (!signal.aborted) tellRefusal(error, (line) => say(line, true));
  }
}

/**
 * @param {object} body what was asked
 * @param {Attended} answer
 * @param {Attended | undefined} beside
 */
function show(body, answer, beside) {
  target.value = answer.text;
  const many = answer.sentences.length;
  at("found", HTMLElement).hidden = !many;
  state.sentence = Math.min(state.sentence, Math.max(many - 1, 0));
  at("go-on", HTMLButtonElement).disabled = many !== 1;
  at("sentences", HTMLElement).replaceChildren(
    ...(many > 1 ? answer.sentences : []).map((_, i) => {
      const button = element("button", { type: "button", text: i + 1, "aria-label": `sentence ${i + 1}` });
      button.setAttribute("aria-pressed", String(i === state.sentence));
      button.addEventListener("click", () => {
        remember({ sentence: i, step: 0 });
        show(body, answer, beside);
        showSteps();
      });
      return button;
    }),
  );
  if (!many) return;
  const { source: sentence, attention } = answer.sentences[state.sentence];
  shown = { body, sentence };
  view.data = attention;
  const other = beside?.sentences[state.sentence];
  at("beside", HTMLElement).hidden = !other;
  if (beside && other) {
    at("beside-name", HTMLElement).textContent = beside.model;
    at("beside-text", HTMLElement).textContent = other.text;
    otherView.data = other.attention;
  }
  const chip = at("prefix", HTMLElement);
  chip.hidden = !state.prefix;
  /** @type {HTMLElement} */ (chip.firstElementChild).textContent = `begins with “${state.prefix}”`;
}

/** @param {AbortSignal} signal */
async function follow(signal) {
  const told = new Map();
  const of = (/** @type {number} */ sentence) => {
    if (!told.has(sentence)) told.set(sentence, new Decoding());
    return told.get(sentence);
  };
  const beam = state.beam || model()?.beam || 1;
  const body = request(state.model, { beam, alternatives: Math.max(beam - 1, 0) });
  await stream("/translate/stream", body, (event, data) => {
    if (event === "step") of(data.sentence).add(data);
    if (event === "sentence") of(data.sentence).end(data);
  }, { signal });
  decodings = told;
  showSteps();
}

function clearSteps() {
  decodings = new Map();
  for (const id of ["step-name", "bars", "tree", "tree-reading"]) at(id, HTMLElement).replaceChildren();
  for (const id of ["back", "forward"]) at(id, HTMLButtonElement).disabled = true;
  stepBox.max = "0";
}

function showSteps() {
  const decoding = decodings.get(state.sentence);
  if (!decoding) return;
  const steps = decoding.best();
  stepBox.max = String(Math.max(steps.length - 1, 0));
  at("tree-reading", HTMLElement).textContent = "";
  drawTree(at("tree", HTMLElement), decoding, (node, path) => {
    at("tree-reading", HTMLElement).textContent =
      `${path.map(({ piece }) => piece).join(" ")} · probability of the last ${percent(node.probability)}, ` +
      `log-probability of all ${node.log_prob.toFixed(2)}`;
  });
  showStep();
}

/** One step of the best sentence: what was chosen, from what, and where it looked. */
function showStep() {
  const steps = decodings.get(state.sentence)?.best() ?? [];
  const place = Math.min(state.step, steps.length - 1);
  const node = steps[place];
  if (!node) return;
  stepBox.value = String(place);
  stepBox.setAttribute("aria-valuetext", `step ${place + 1}: ${node.piece}`);
  at("back", HTMLButtonElement).disabled = place === 0;
  at("forward", HTMLButtonElement).disabled = place === steps.length - 1;
  at("step-name", HTMLElement).replaceChildren(
    `Step ${place + 1} of ${steps.length}: `,
    element("bdi", { text: node.piece }),
  );
  const isAmong = node.rivals.some(({ piece }) => piece === node.piece);
  const rivals = isAmong ? node.rivals : [...node.rivals, node];
  at("bars", HTMLElement).replaceChildren(
    ...rivals.flatMap(({ piece, probability }) => {
      const chosen = piece === node.piece ? "chosen" : "";
      const bar = element("span");
      bar.style.width = `${100 * probability}%`;
      return [
        element("dt", { class: chosen, dir: "auto", text: piece }),
        element("dd", { class: `bar ${chosen}`, "aria-hidden": "true" }, [bar]),
        element("dd", { text: percent(probability) }),
      ];
    }),
  );
  markNode(at("tree", HTMLElement), node.id);
  view.light(place);
}

/** @param {number} step */
function goTo(step) {
  remember({ step: Math.max(step, 0) });
  showStep();
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function goOn() {
  const prefix = target.value.slice(0, target.selectionStart).trimEnd();
  remember({ prefix, step: 0 });
  void translate();
}

/** @returns {Model | undefined} */
function model() {
  return models.find(({ name }) => name === state.model);
}

/** @returns {Model | undefined} one that translates the other way */
function opposite() {
  const here = model();
  const isWay = here && here.source && here.target;
  return isWay ? models.find(({ source, target }) => source === here.target && target === here.source) : undefined;
}

/** The translation becomes the text, and a model of the other direction translates it back. */
function swap() {
  const other = opposite();
  if (!other) return;
  remember({ model: other.name, other: "", q: target.value, prefix: "", sentence: 0, step: 0 });
  [source.value, modelBox.value, otherBox.value] = [state.q, state.model, state.other];
  showLanguages();
  void translate();
}

function listen() {
  source.addEventListener("input", () => {
    remember({ q: source.value, prefix: "", sentence: 0, step: 0 });
    clearTimeout(timer);
    timer = setTimeout(translate, TYPING);
  });
  modelBox.addEventListener("change", () => {
    remember({ model: modelBox.value, prefix: "" });
    showLanguages();
    void translate();
  });
  otherBox.addEventListener("change", () => {
    remember({ other: otherBox.value });
    void translate();
  });
  beamBox.addEventListener("change", () => {
    remember({ beam: Number(beamBox.value), step: 0 });
    void translate();
  });
  at("swap", HTMLButtonElement).addEventListener("click", swap);
  at("go-on", HTMLButtonElement).addEventListener("click", goOn);
  target.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) goOn();
  });
  at("prefix", HTMLElement).querySelector("button")?.addEventListener("click", () => {
    remember({ prefix: "" });
    void translate();
  });
  view.addEventListener("change", () => {
    remember(view.state);
    const { kind, words, specials } = view.state;
    otherView.state = { kind, words, specials };
  });
  stepBox.addEventListener("input", () => goTo(Number(stepBox.value)));
  at("back", HTMLButtonElement).addEventListener("click", () => goTo(Number(stepBox.value) - 1));
  at("forward", HTMLButtonElement).addEventListener("click", () => goTo(Number(stepBox.value) + 1));
  addEventListener("hashchange", () => {
    state = fromHash(location.hash, PAGE_START);
    void begin();
  });
  const kept = at("kept", HTMLElement);
  at("link", HTMLButtonElement).addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      kept.textContent = "copied";
    } catch {
      // A page that came over plain HTTP has no clipboard, and a reader may have denied it.
      kept.textContent = "the browser does not let the page copy; the link is the page's address";
    }
  });
  const saving = (/** @type {string} */ id, /** @type {() => Promise<[Blob, string]>} */ make) =>
    at(id, HTMLButtonElement).addEventListener("click", async () => {
      kept.textContent = "";
      try {
        download(...(await make()));
      } catch (error) {
        kept.textContent = error instanceof Error ? error.message : String(error);
      }
    });
  saving("png", async () => [await view.png(), "attention.png"]);
  saving("json", async () => {
    const answer = await send("/attend", { ...shown.body, floats: true });
    return [await answer.blob(), "attention.json"];
  });
  saving("html", async () => {
    // A file shows one sentence: the one that is looked at.
    const answer = await send("/attend", { ...shown.body, q: shown.sentence }, { accept: "text/html" });
    const page = await answer.blob();
    if (!page.type.startsWith("text/html")) throw new Error("this server gives no HTML file");
    return [page, "attention.html"];
  });
}

function showLanguages() {
  const here = model();
  at("from", HTMLElement).textContent = here?.source || "?";
  at("to", HTMLElement).textContent = here?.target || "?";
  const button = at("swap", HTMLButtonElement);
  const other = opposite();
  button.disabled = !other;
  button.title = other ? `translate back with ${other.name}` : "no model of the other direction is served";
}

/**
 * @param {HTMLSelectElement} box
 * @param {[string, string][]} choices values and their names
 * @param {string} chosen
 */
function fill(box, choices, chosen) {
  box.replaceChildren(...choices.map(([value, text]) => element("option", { value, text })));
  box.value = chosen;
}

async function begin() {
  try {
    models = await get("/models");
  } catch (error) {
    return tellRefusal(error, (line) => say(line, true));
  }
  const names = models.map(({ name }) => name);
  if (!names.includes(state.model)) state.model = names[0] ?? "";
  if (!names.includes(state.other)) state.other = "";
  fill(modelBox, names.map((name) => [name, name]), state.model);
  fill(otherBox, [["", "nothing"], ...names.map((name) => /** @type {[string, string]} */ ([name, name]))], state.other);
  const beams = [...new Set([...BEAMS, ...(state.beam ? [state.beam] : [])])].sort((a, b) => a - b);
  fill(beamBox, [["0", "the model's own"], ...beams.map((beam) => /** @type {[string, string]} */ ([String(beam), beam === 1 ? "1, greedy" : String(beam)]))], String(state.beam));
  showLanguages();
  source.value = state.q;
  const { kind, layer, head, words, specials, rollout, alone } = state;
  view.state = { kind, layer, head, words, specials, rollout, alone };
  otherView.state = { kind, words, specials };
  await translate();
}

listen();
await begin();
