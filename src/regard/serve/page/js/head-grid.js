// @ts-check
/**
 * Thumbnails of every layer and head, with their means in the last row and column.
 *
 * @typedef {import("regard/weights.js").Kind} Kind
 * @typedef {import("regard/units.js").Unit} Unit
 */
import { ramp } from "regard/colours.js";
import { element } from "regard/dom.js";
import { drawThumbnail } from "regard/heat-map.js";
import { roving } from "regard/roving.js";
import { merge } from "regard/units.js";
import { chosen } from "regard/weights.js";

export class HeadGrid {
  /** @param {(layer: number, head: number, alone: boolean) => void} onPick 0 is the mean */
  constructor(onPick) {
    this.node = element("div", { class: "grid", role: "group", "aria-label": "layers and heads" });
    this._numColumns = 1;
    const pick = (/** @type {Event} */ event, /** @type {boolean} */ alone) => {
      const thumb = /** @type {Element} */ (event.target).closest(".thumb");
      if (thumb instanceof HTMLElement) onPick(Number(thumb.dataset.layer), Number(thumb.dataset.head), alone);
    };
    this._stops = roving(this.node, {
      columns: () => this._numColumns,
      onMove: (i) => this._stops.items()[i].click(),
    });
    this.node.addEventListener("click", (event) => pick(event, false));
    this.node.addEventListener("dblclick", (event) => pick(event, true));
    this.node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      pick(event, true);
    });
  }

  /**
   * @param {Kind} kind
   * @param {Unit[]} rows
   * @param {Unit[]} columns
   */
  draw(kind, rows, columns) {
    const layers = numbers(kind.layers);
    const heads = numbers(kind.heads);
    this._numColumns = heads.length;
    this.node.style.gridTemplateColumns = `auto repeat(${heads.length}, minmax(0, 1fr))`;
    const stops = ramp();
    const thumb = (/** @type {number} */ layer, /** @type {number} */ head) => {
      const canvas = element("canvas", { "aria-hidden": "true" });
      drawThumbnail(canvas, merge(chosen(kind, layer, head), rows, columns), stops);
      const name = nameOf(layer, head);
      return element(
        "button",
        {
          type: "button",
          class: "thumb",
          title: name,
          "aria-label": name,
          "data-stop": true,
          "data-layer": layer,
          "data-head": head,
        },
        [canvas],
      );
    };
    this.node.replaceChildren(
      element("span"),
      ...heads.map((head) => element("span", { class: "number", text: head || "mean" })),
      ...layers.flatMap((layer) => [
        element("span", { class: "number row", text: layer || "mean" }),
        ...heads.map((head) => thumb(layer, head)),
      ]),
    );
  }

  /**
   * @param {number} layer
   * @param {number} head
   */
  choose(layer, head) {
    const thumbs = this._stops.items();
    const here = thumbs.findIndex(
      ({ dataset }) => Number(dataset.layer) === layer && Number(dataset.head) === head,
    );
    thumbs.forEach((thumb, i) => thumb.setAttribute("aria-pressed", String(i === here)));
    this._stops.stopAt(Math.max(here, 0));
  }

  /** @returns {boolean} */
  get hasFocus() {
    return this.node.matches(":focus-within");
  }

  /** Focus the thumbnail that is chosen. */
  focus() {
    this._stops.items().find((thumb) => thumb.tabIndex === 0)?.focus();
  }
}

/**
 * @param {number} layer
 * @param {number} head
 * @returns {string} such as "layer 2, mean over heads"
 */
export function nameOf(layer, head) {
  if (!layer && !head) return "mean over layers and heads";
  return `${layer ? `layer ${layer}` : "mean over layers"}, ${head ? `head ${head}` : "mean over heads"}`;
}

/**
 * @param {number} most
 * @returns {number[]} 1 … most, and 0 for their mean if there are several
 */
function numbers(most) {
  const each = Array.from({ length: most }, (_, i) => i + 1);
  return most > 1 ? [...each, 0] : each;
}
