// @ts-check
/**
 * A sentence whose words can be pointed at, and shaded by weight.
 *
 * @typedef {import("regard/units.js").Unit} Unit
 */
import { colour, css, ink, ramp } from "regard/colours.js";
import { element } from "regard/dom.js";
import { roving } from "regard/roving.js";

export class Sentence {
  /**
   * @param {(index: number | null) => void} onPoint told which word is pointed at or focused
   * @param {() => void} onOpen told when a word was double-clicked or entered
   */
  constructor(onPoint, onOpen) {
    this.node = element("div", { class: "sentence", dir: "auto", role: "group" });
    /** @type {HTMLElement[]} */
    this.words = [];
    this._stops = roving(this.node);
    const indexOf = (/** @type {Event} */ event) =>
      this.words.indexOf(/** @type {HTMLElement} */ (event.target));
    for (const kind of ["pointerover", "focusin"]) {
      this.node.addEventListener(kind, (event) => {
        if (indexOf(event) >= 0) onPoint(indexOf(event));
      });
    }
    for (const kind of ["pointerleave", "focusout"]) {
      this.node.addEventListener(kind, () => onPoint(null));
    }
    this.node.addEventListener("dblclick", (event) => {
      if (indexOf(event) >= 0) onOpen();
    });
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && indexOf(event) >= 0) onOpen();
    });
  }

  /** @param {Unit[]} units */
  show(units) {
    this.words = units.map(({ label, isSpecial }) =>
      element("button", {
        type: "button",
        class: isSpecial ? "word special" : "word",
        "data-stop": true,
        text: label,
      }),
    );
    this.node.replaceChildren(...units.flatMap(({ gap }, i) => [gap, this.words[i]]));
    this._stops.stopAt(0);
  }

  /**
   * Shade each word by a weight, the deepest for the largest of them; none to clear.
   * @param {Float32Array | null} weights
   * @param {number | null} chosen the word that is pointed at itself
   */
  shade(weights, chosen = null) {
    const stops = ramp();
    const most = weights ? Math.max(...weights) || 1 : 1;
    this.words.forEach((word, i) => {
      word.classList.toggle("chosen", i === chosen);
      if (weights) {
        const shade = colour(weights[i] / most, stops);
        word.style.backgroundColor = css(shade);
        word.style.color = ink(shade);
        word.dataset.weight = weights[i].toFixed(3);
      } else {
        word.style.removeProperty("background-color");
        word.style.removeProperty("color");
        delete word.dataset.weight;
      }
    });
  }
}
