// @ts-check
/** Lines from one word to the words it looks at. */
import { drawn } from "regard/dom.js";

/** Weights below this share of the largest have no line. */
const NOTABLE = 0.04;

/**
 * @param {SVGSVGElement} svg lies over both sentences
 * @param {HTMLElement} from
 * @param {HTMLElement[]} to
 * @param {Float32Array} weights
 */
export function drawLines(svg, from, to, weights) {
  const frame = svg.getBoundingClientRect();
  const start = from.getBoundingClientRect();
  const most = Math.max(...weights) || 1;
  const lines = to.flatMap((word, i) => {
    const share = weights[i] / most;
    if (share < NOTABLE) return [];
    const end = word.getBoundingClientRect();
    const isBelow = end.top > start.top;
    const x1 = start.left + start.width / 2 - frame.left;
    const x2 = end.left + end.width / 2 - frame.left;
    const y1 = (isBelow ? start.bottom : start.top) - frame.top;
    const y2 = (isBelow ? end.top : end.bottom) - frame.top;
    const middle = (y1 + y2) / 2;
    return [
      drawn("path", {
        d: `M${x1} ${y1} C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`,
        "stroke-width": (0.75 + 3 * share).toFixed(2),
        "stroke-opacity": (0.15 + 0.75 * share).toFixed(3),
      }),
    ];
  });
  svg.replaceChildren(...lines);
}
