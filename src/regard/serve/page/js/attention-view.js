// @ts-check
/**
 * `<attention-view>`: every layer and head of one translation, to be looked at.
 *
 *     view.data = wire        what `to_wire` of `regard/lens/wire.py` made
 *     view.state = {…}        which part of it is shown; "change" is dispatched when a reader does
 *
 * @typedef {import("regard/weights.js").Wire} Wire
 * @typedef {import("regard/weights.js").Kind} Kind
 * @typedef {import("regard/weights.js").Matrix} Matrix
 * @typedef {import("regard/units.js").Unit} Unit
 * @typedef {import("regard/heat-map.js").Lit} Lit
 * @typedef {import("regard/heat-map.js").Geometry} Geometry
 *
 * Layers and heads count from 1; 0 is the mean over them.
 * @typedef {{ kind: string, layer: number, head: number, words: boolean, specials: boolean, rollout: boolean, alone: boolean }} ViewState
 */
import { style } from "regard/attention-style.js";
import { group, press, toggle } from "regard/buttons.js";
import { isDark, ramp } from "regard/colours.js";
import { drawn, element } from "regard/dom.js";
import { HeadGrid, nameOf } from "regard/head-grid.js";
import { cellAt, drawHeatMap, measure } from "regard/heat-map.js";
import { drawLines } from "regard/lines.js";
import { reading } from "regard/reading.js";
import { destination, roving } from "regard/roving.js";
import { Sentence } from "regard/sentence.js";
import { merge, unitsOf } from "regard/units.js";
import { chosen, columnOf, rowOf, unpack } from "regard/weights.js";

/** @type {ViewState} */
export const START = {
  kind: "cross",
  layer: 0,
  head: 0,
  words: true,
  specials: false,
  rollout: false,
  alone: false,
};

const KINDS = ["encoder", "decoder", "cross"];
const NAMES = /** @type {Record<string, string>} */ ({
  source: "source",
  target: "translation",
  inputs: "translation",
});
const TITLES = /** @type {Record<string, string>} */ ({
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
});
const HINT =
  "One row a layer, one column a head, their means at the end. Arrow keys move, Enter shows one alone.";
const MODESTY = "Weights show where the model looked, not why.";
export const NO_ATTENTION = "this model has no attention";

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);

export class AttentionView extends HTMLElement {
  /** @type {ViewState} */
  _state = { ...START };
  /** @type {Wire | null} */
  _wire = null;
  /** @type {Map<string, Promise<Kind>>} */
  _kinds = new Map();
  /** @type {Lit} */
  _lit = { row: null, column: null };
  /** @type {Unit[]} */
  _rows = [];
  /** @type {Unit[]} */
  _columns = [];
  /** @type {Matrix} */
  _matrix = { rows: 0, columns: 0, values: new Float32Array() };
  /** @type {Geometry | null} */
  _place = null;
  _made = "";

  _open = () => this._choose({ alone: !this._state.alone });
  _keys = new Sentence((i) => this._point(i === null ? null : { row: null, column: i }), this._open);
  _queries = new Sentence((i) => this._point(i === null ? null : { row: i, column: null }), this._open);
  _names = [element("span", { class: "name" }), element("span", { class: "name" })];
  _lines = drawn("svg", { class: "lines", "aria-hidden": "true" });
  _tabs = element("div", { class: "tabs", role: "tablist", "aria-label": "kind of attention" });
  _byWords = toggle("words", () => this._choose({ words: true }));
  _byPieces = toggle("pieces", () => this._choose({ words: false }));
  _hide = element("input", { type: "checkbox" });
  _mean = toggle("mean", () => this._choose({ layer: 0, head: 0, rollout: false }));
  _rollout = toggle("rollout", () => this._choose({ rollout: !this._state.rollout }));
  _grid = new HeadGrid((layer, head, alone) => this._choose({ layer, head, rollout: false, alone }));
  _caption = element("span");
  _back = toggle("all heads", () => this._choose({ alone: false, rollout: false }));
  _canvas = element("canvas", { tabindex: 0, role: "application" });
  _map = element("div", { class: "map" }, [this._canvas]);
  _reading = element("p", { class: "reading", "aria-live": "polite" });
  _maps = element("div", { class: "maps", role: "tabpanel" }, [
    element("div", { class: "heads" }, [this._grid.node, element("p", { class: "caption", text: HINT })]),
    element("div", { class: "large" }, [
      element("h3", { class: "title" }, [this._caption, this._back]),
      this._map,
      this._reading,
      element("p", { class: "caption", text: MODESTY }),
    ]),
  ]);
  _none = element("p", { class: "none", text: NO_ATTENTION });
  _resizes = new ResizeObserver(() => this._drawMap());
  _scheme = matchMedia("(prefers-color-scheme: dark)");
  _onScheme = () => void this._show();

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    root.append(
      this._none,
      element("div", { class: "sentences" }, [
        element("div", { class: "side" }, [this._names[0], this._keys.node]),
        element("div", { class: "between" }),
        element("div", { class: "side" }, [this._names[1], this._queries.node]),
        this._lines,
      ]),
      element("div", { class: "bar" }, [
        this._tabs,
        element("span", { class: "space" }),
        group("units", [this._byWords, this._byPieces]),
        element("label", { class: "tick" }, [this._hide, "hide specials"]),
        group("summary", [this._mean, this._rollout]),
      ]),
      this._maps,
    );
    this._mean.title = "the mean over all layers and heads";
    this._rollout.title = "through all layers, residual connections included (Abnar & Zuidema 2020)";
    this._hide.addEventListener("change", () => this._choose({ specials: !this._hide.checked }));
    roving(this._tabs, { onMove: (i) => this._tabs.querySelectorAll("button")[i].click() });
    root.addEventListener("keydown", (event) => {
      if (/** @type {KeyboardEvent} */ (event).key === "Escape") this._escape();
    });
    this._watchMap();
  }

  connectedCallback() {
    this._resizes.observe(this._map);
    this._scheme.addEventListener("change", this._onScheme);
  }

  disconnectedCallback() {
    this._resizes.disconnect();
    this._scheme.removeEventListener("change", this._onScheme);
  }

  /** @param {Wire} wire */
  set data(wire) {
    this._wire = wire;
    this._kinds.clear();
    this._made = "";
    void this._show();
  }

  /** @returns {ViewState} */
  get state() {
    return { ...this._state };
  }

  /** @param {Partial<ViewState>} state what is not given stays */
  set state(state) {
    this._state = { ...this._state, ...state };
    void this._show();
  }

  /** @returns {string} what the map shows */
  get caption() {
    const { kind, layer, head, rollout } = this._state;
    return `${TITLES[kind]}, ${rollout ? "rolled out through all layers" : nameOf(layer, head)}`;
  }

  /**
   * Light where the step that wrote a piece of the translation looked.
   * @param {number} piece
   */
  light(piece) {
    const row = this._rows.findIndex((unit) => unit.pieces.includes(piece));
    const isWritten = this._wire?.kinds[this._state.kind]?.rows !== "source";
    if (isWritten) this._point({ row: row < 0 ? null : row, column: null });
  }

  /**
   * The map as a picture.
   * @returns {Promise<Blob>}
   */
  png() {
    if (!this._rows.length) return Promise.reject(new Error(NO_ATTENTION));
    const canvas = document.createElement("canvas");
    this._paint(canvas, { row: null, column: null }, 3);
    const context = canvas.getContext("2d");
    if (context) {
      context.globalCompositeOperation = "destination-over";
      context.fillStyle = isDark() ? "#12151c" : "#ffffff";
      context.fillRect(0, 0, canvas.width, canvas.height);
    }
    return new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"),
    );
  }

  /** @param {Partial<ViewState>} change */
  _choose(change) {
    this.state = change;
    this.dispatchEvent(new Event("change"));
  }

  _escape() {
    if (!this._state.alone) return this._point({ row: null, column: null });
    this._maps.classList.remove("alone");
    this._grid.focus();
    this._choose({ alone: false });
  }

  _watchMap() {
    const canvas = this._canvas;
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      if (this._place) this._point(cellAt(this._place, this._matrix, offsetX, offsetY));
    });
    for (const kind of ["pointerleave", "blur"]) canvas.addEventListener(kind, () => this._point(null));
    canvas.addEventListener("dblclick", this._open);
    canvas.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this._open();
      const { rows, columns } = this._matrix;
      const { row, column } = this._lit;
      const here = (row ?? 0) * columns + (column ?? 0);
      const there = destination(event.key, here, rows * columns, { columns });
      if (there === null) return;
      event.preventDefault();
      const cell = row === null || column === null ? here : there;
      this._point({ row: Math.floor(cell / columns), column: cell % columns });
    });
  }

  async _show() {
    const wire = this._wire;
    if (!wire) return;
    const kinds = KINDS.filter((kind) => kind in wire.kinds);
    this.toggleAttribute("data-empty", !kinds.length);
    if (!kinds.length) return this._clear();
    if (!kinds.includes(this._state.kind)) this._state.kind = kinds[kinds.length - 1];
    const packed = wire.kinds[this._state.kind];
    const unpacking = this._kinds.get(this._state.kind) ?? unpack(packed);
    this._kinds.set(this._state.kind, unpacking);
    const kind = await unpacking;
    // Another sentence or kind may have been asked for while this one was unpacked.
    if (wire !== this._wire || packed !== wire.kinds[this._state.kind]) return;
    const state = this._state;
    const [rowAxis, columnAxis] = [wire.axes[packed.rows], wire.axes[packed.columns]];
    const hasWords = rowAxis.words !== undefined && columnAxis.words !== undefined;
    state.layer = Math.min(state.layer, kind.layers);
    state.head = Math.min(state.head, kind.heads);
    state.rollout &&= kind.rollout !== null;
    state.words &&= hasWords;
    this._rows = unitsOf(rowAxis, state);
    this._columns = unitsOf(columnAxis, state);
    const matrix = (state.rollout && kind.rollout) || chosen(kind, state.layer, state.head);
    this._matrix = merge(matrix, this._rows, this._columns);
    const wasAmongHeads = this._grid.hasFocus;
    this._showControls(kinds, hasWords, kind.rollout !== null);
    // Words and thumbnails are made anew only where others are due: a reader may be on one, and
    // what is lit stays lit from head to head.
    const due = [state.kind, state.words, state.specials, isDark()].join();
    const isAnew = due !== this._made;
    if (isAnew) this._showSentences(packed.rows, packed.columns);
    this._point(isAnew ? null : this._lit);
    if (isAnew) this._grid.draw(kind, this._rows, this._columns);
    this._made = due;
    this._grid.choose(state.layer, state.head);
    if (state.alone && wasAmongHeads) this._canvas.focus();
  }

  /** Leave nothing of another model's picture. */
  _clear() {
    [this._rows, this._columns] = [[], []];
    this._matrix = { rows: 0, columns: 0, values: new Float32Array() };
    this._keys.show([]);
    this._queries.show([]);
    this._grid.node.replaceChildren();
    this._tabs.replaceChildren();
    this._point({ row: null, column: null });
  }

  /**
   * @param {string[]} kinds
   * @param {boolean} hasWords
   * @param {boolean} hasRollout
   */
  _showControls(kinds, hasWords, hasRollout) {
    const state = this._state;
    if (this._tabs.childElementCount !== kinds.length) {
      this._tabs.replaceChildren(
        ...kinds.map((kind) => {
          const tab = element("button", { type: "button", role: "tab", "data-stop": true, text: kind });
          tab.addEventListener("click", () => this._choose({ kind }));
          return tab;
        }),
      );
    }
    this._tabs.querySelectorAll("button").forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(kinds[i] === state.kind));
      tab.tabIndex = kinds[i] === state.kind ? 0 : -1;
    });
    press(this._byWords, state.words);
    press(this._byPieces, !state.words);
    this._byWords.disabled = !hasWords;
    this._hide.checked = !state.specials;
    press(this._mean, !state.layer && !state.head && !state.rollout);
    press(this._rollout, state.rollout);
    this._rollout.hidden = !hasRollout;
    this._maps.classList.toggle("alone", state.alone || state.rollout);
    this._back.hidden = !state.alone && !state.rollout;
    this._caption.textContent = this.caption;
    this._canvas.setAttribute("aria-label", `${this.caption}; arrow keys move over its cells`);
  }

  /**
   * @param {string} rowName
   * @param {string} columnName
   */
  _showSentences(rowName, columnName) {
    const isSelf = rowName === columnName;
    const names = [
      NAMES[columnName] + (isSelf ? ", looked at" : ""),
      NAMES[rowName] + (isSelf ? ", looking" : ""),
    ];
    [this._keys, this._queries].forEach((sentence, i) => {
      this._names[i].textContent = names[i];
      sentence.node.setAttribute("aria-label", names[i]);
      sentence.node.classList.toggle("pieces", !this._state.words);
      sentence.show(i ? this._rows : this._columns);
    });
  }

  /**
   * Light a row, a column or a cell; null lights the word that has the focus, if one has.
   * @param {Lit | null} lit
   */
  _point(lit) {
    if (lit === null) {
      const focused = /** @type {HTMLElement} */ (this.shadowRoot?.activeElement);
      const row = this._queries.words.indexOf(focused);
      const column = this._keys.words.indexOf(focused);
      lit = { row: row < 0 ? null : row, column: column < 0 ? null : column };
    }
    this._lit = lit;
    const { row, column } = lit;
    const ofRow = row === null ? null : rowOf(this._matrix, row);
    const ofColumn = column === null ? null : columnOf(this._matrix, column);
    const [keys, queries] = [this._keys, this._queries];
    keys.shade(ofRow, column);
    queries.shade(ofColumn, row);
    if (row !== null && ofRow) drawLines(this._lines, queries.words[row], keys.words, ofRow);
    else if (column !== null && ofColumn) drawLines(this._lines, keys.words[column], queries.words, ofColumn);
    else this._lines.replaceChildren();
    this._reading.replaceChildren(...reading(lit, this._rows, this._columns, ofRow, ofColumn));
    this._drawMap();
  }

  _drawMap() {
    if (this._wire && this._map.clientWidth) this._place = this._paint(this._canvas, this._lit);
  }

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Lit} lit
   * @param {number} [scale] pixels for each of the page's
   * @returns {Geometry}
   */
  _paint(canvas, lit, scale = devicePixelRatio) {
    const [rows, columns] = [this._rows, this._columns].map((units) => units.map((unit) => unit.label));
    const place = measure(rows, columns, this._map.clientWidth);
    drawHeatMap(canvas, this._matrix, rows, columns, {
      place,
      lit,
      scale,
      ramp: ramp(),
      text: getComputedStyle(this).color,
      quiet: getComputedStyle(this._reading).color,
    });
    return place;
  }
}

customElements.define("attention-view", AttentionView);
