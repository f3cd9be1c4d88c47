// @ts-check
/**
 * The weather stations on a map, and a query that can be dragged over it.
 *
 * @typedef {{ place: [number, number], temperature: number, humidity: number, score: number, weight: number }} Station
 * @typedef {{ query: [number, number], stations: Station[], estimate: [number, number] }} Weather
 */
import { drawn } from "regard/dom.js";

const SIZE = 400;
const REACH = 0.62;
const STEP = 0.02;

/**
 * @param {(query: [number, number]) => void} onMove told where the query was dragged
 * @returns {{ node: SVGSVGElement, show: (weather: Weather) => void }}
 */
export function weatherMap(onMove) {
  const node = drawn("svg", { class: "map", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "application", "aria-label": "weather map; arrow keys move the query", tabindex: 0 });
  const lines = drawn("g");
  const marks = drawn("g");
  const handle = drawn("circle", { class: "query", r: 9 });
  handle.style.fill = "var(--warm)";
  const name = drawn("text", { "text-anchor": "end", text: "query" });
  node.append(lines, marks, handle, name);
  /** @type {[number, number]} */
  let query = [0, 0];

  const moveTo = (/** @type {number} */ x, /** @type {number} */ y) => {
    query = [clamp(x), clamp(y)];
    place();
    onMove(query);
  };
  const place = () => {
    const [x, y] = toMap(query);
    handle.setAttribute("cx", String(x));
    handle.setAttribute("cy", String(y));
    name.setAttribute("x", String(x - 13));
    name.setAttribute("y", String(y + 4));
  };
  const follow = (/** @type {PointerEvent} */ event) => {
    const frame = node.getBoundingClientRect();
    const share = [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
    moveTo((2 * share[0] - 1) * REACH, (1 - 2 * share[1]) * REACH);
  };
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    follow(event);
  });
  node.addEventListener("pointermove", (event) => {
    if (event.buttons) follow(event);
  });
  node.addEventListener("keydown", (event) => {
    const steps = /** @type {Record<string, [number, number]>} */ ({
      ArrowLeft: [-STEP, 0],
      ArrowRight: [STEP, 0],
      ArrowUp: [0, STEP],
      ArrowDown: [0, -STEP],
    });
    if (!(event.key in steps)) return;
    event.preventDefault();
    moveTo(query[0] + steps[event.key][0], query[1] + steps[event.key][1]);
  });

  const show = (/** @type {Weather} */ weather) => {
    const here = toMap(query);
    lines.replaceChildren(
      ...weather.stations.map((station) => {
        const [x2, y2] = toMap(station.place);
        const line = drawn("line", { x1: here[0], y1: here[1], x2, y2, "stroke-width": 1 + 9 * station.weight, "stroke-opacity": 0.15 + 0.75 * station.weight });
        line.style.stroke = "var(--accent)";
        return line;
      }),
    );
    marks.replaceChildren(
      ...weather.stations.flatMap((station) => {
        const [cx, cy] = toMap(station.place);
        const dot = drawn("circle", { cx, cy, r: 5 + 12 * Math.sqrt(station.weight) });
        dot.style.fill = "var(--accent)";
        const isLeft = cx < SIZE / 2;
        const beside = 14 + 12 * Math.sqrt(station.weight);
        const label = { x: cx + (isLeft ? -beside : beside), y: cy + 4, "text-anchor": isLeft ? "end" : "start" };
        return [dot, drawn("text", { ...label, text: `${station.temperature} °C` })];
      }),
    );
    place();
  };
  return { node, show };
}

/** @param {number} value */
function clamp(value) {
  return Math.min(Math.max(value, -REACH), REACH);
}

/**
 * @param {[number, number]} point
 * @returns {[number, number]}
 */
function toMap([x, y]) {
  return [(SIZE * (1 + x / REACH)) / 2, (SIZE * (1 - y / REACH)) / 2];
}
