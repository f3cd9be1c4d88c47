// @ts-check
/**
 * The beam as a tree: one column a step, the best sentence along the top.
 *
 * @typedef {import("regard/decoding.js").Decoding} Decoding
 * @typedef {import("regard/decoding.js").Node} Node
 */
import { drawn } from "regard/dom.js";
import { contextOf, FONT } from "regard/heat-map.js";
import { destination } from "regard/roving.js";

const LANE = 26;
const GAP = 26;
/** How many letters of a piece are shown. */
const LONGEST = 14;

/**
 * @param {HTMLElement} container
 * @param {Decoding} decoding
 * @param {(node: Node, path: Node[]) => void} onPoint told which node is pointed at or focused
 */
export function drawTree(container, decoding, onPoint) {
  const places = decoding.places();
  const lived = decoding.lived();
  const best = new Set(decoding.best().map((node) => node.id));
  const pen = contextOf(document.createElement("canvas"));
  pen.font = `650 12px ${FONT}`;  // as bold as the best, whose name is the widest
  const widthOf = (/** @type {Node} */ node) => pen.measureText(shortened(node.piece)).width + 10;
  const numSteps = Math.max(0, ...places.map(({ step }) => step)) + 1;
  const widths = Array(numSteps).fill(0);
  for (const { node, step } of places) {
    widths[step] = Math.max(widths[step], widthOf(node));
  }
  const lefts = widths.map((_, step) => widths.slice(0, step).reduce((sum, width) => sum + width + GAP, 0));
  const height = (Math.max(0, ...places.map(({ lane }) => lane)) + 1) * LANE;
  const width = lefts[numSteps - 1] + (widths[numSteps - 1] ?? 0) + 8;
  const at = new Map(places.map((place) => [place.node.id, place]));
  const rankOf = (/** @type {number} */ id) => (best.has(id) ? "best" : lived.has(id) ? "lived" : "died");
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  for (const { node, step, lane } of places) {
    const parent = at.get(node.parent);
    if (!parent) continue;
    const [x1, y1] = [lefts[parent.step] + widthOf(parent.node), (parent.lane + 0.5) * LANE];
    const [x2, y2] = [lefts[step], (lane + 0.5) * LANE];
    const middle = (x1 + x2) / 2;
    svg.append(
      drawn("path", { class: rankOf(node.id), d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` }),
    );
  }
  const groups = places.map(({ node, step, lane }, i) => {
    const group = drawn("g", {
      class: rankOf(node.id),
      transform: `translate(${lefts[step]} ${lane * LANE})`,
      tabindex: i ? -1 : 0,
      role: "img",
      "aria-label": `${node.piece}, probability ${node.probability.toFixed(2)}`,
      "data-id": node.id,
    }, [
      drawn("rect", { y: 3, width: widthOf(node), height: LANE - 6, rx: 5 }),
      drawn("text", { x: 5, y: LANE / 2 + 4, text: shortened(node.piece) }),
    ]);
    for (const kind of ["pointerenter", "focus"]) {
      group.addEventListener(kind, () => onPoint(node, decoding.path(node.id)));
    }
    return group;
  });
  svg.append(...groups);
  svg.addEventListener("keydown", (event) => {
    const here = groups.indexOf(/** @type {SVGGElement} */ (event.target));
    const there = here < 0 ? null : destination(event.key, here, groups.length);
    if (there === null) return;
    event.preventDefault();
    groups[here].setAttribute("tabindex", "-1");
    groups[there].setAttribute("tabindex", "0");
    groups[there].focus();
  });
  container.replaceChildren(svg);
}

/**
 * @param {HTMLElement} container
 * @param {number} id of the node that is now looked at
 */
export function markNode(container, id) {
  for (const group of container.querySelectorAll("g")) {
    group.classList.toggle("now", group.dataset.id === String(id));
  }
}

/** @param {string} piece */
function shortened(piece) {
  const characters = [...piece];
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST - 1).join("")}…` : piece;
}
