// @ts-check
/**
 * Curves and points with their axes, as SVG.
 *
 * @typedef {{ name: string, x: number[], y: number[] }} Curve
 * @typedef {{ name: string, x: number | null, y: number, isFilled: boolean }} Point
 * @typedef {{ x: string, y: string, isLog?: boolean, height?: number, fromZero?: boolean }} Axes
 */
import { drawn, element } from "regard/dom.js";
import { contextOf, FONT } from "regard/heat-map.js";

const WIDEST = 640;
/** How far below its point a name may stand, in the order of preference, where there is a crowd. */
const SHIFTS = [-10, 18, -24, 32];
const MARGIN = { left: 52, right: 16, top: 14, bottom: 40 };
const COLOURS = ["var(--accent)", "var(--warm)", "light-dark(#3c8567, #7cc9a7)"];

/**
 * @param {Curve[]} curves
 * @param {Axes} axes
 * @returns {HTMLElement}
 */
export function lineChart(curves, axes) {
  const frame = new Frame(curves.flatMap((c) => c.x), curves.flatMap((c) => c.y), axes);
  curves.forEach(({ name, x, y }, i) => {
    const points = x.map((value, j) => `${frame.x(value).toFixed(1)},${frame.y(y[j]).toFixed(1)}`);
    const line = drawn("polyline", { class: "curve", points: points.join(" ") }, [drawn("title", { text: name })]);
    line.style.stroke = COLOURS[i % COLOURS.length];
    frame.svg.append(line);
    if (x.length === 1) {
      const dot = drawn("circle", { cx: frame.x(x[0]), cy: frame.y(y[0]), r: 3 });
      dot.style.fill = COLOURS[i % COLOURS.length];
      frame.svg.append(dot);
    }
  });
  const keys = curves.map(({ name }, i) => {
    const key = element("span", { class: "key", text: name });
    key.style.setProperty("--mark", COLOURS[i % COLOURS.length]);
    return key;
  });
  return element("div", {}, [frame.svg, ...(curves.length > 1 ? keys : [])]);
}

/**
 * Points to choose from; one that has no x is a level from the left edge to the right.
 * @param {Point[]} points
 * @param {Axes} axes
 * @param {(index: number) => void} onChoose
 * @returns {HTMLElement}
 */
export function scatter(points, axes, onChoose) {
  const frame = new Frame(points.flatMap(({ x }) => (x === null ? [] : [x])), points.map(({ y }) => y), axes);
  const pen = contextOf(document.createElement("canvas"));
  pen.font = `12px ${FONT}`;
  const place = (/** @type {number | null} */ x) => (x === null ? MARGIN.left : frame.x(x));
  /** @type {{ start: number, end: number, y: number }[]} what a name must not cover */
  const labels = points.map(({ x, y }) => ({ start: place(x) - 8, end: place(x) + 8, y: frame.y(y) + 4 }));
  points.forEach(({ name, x, y: value, isFilled }, i) => {
    const [left, top] = [place(x), frame.y(value)];
    if (x === null) {
      frame.svg.append(drawn("line", { class: "level", x1: left, x2: frame.width - MARGIN.right, y1: top, y2: top }));
    }
    const dot = drawn("circle", { class: "point", cx: left, cy: top, r: 6, tabindex: 0, role: "button", "aria-label": name });
    dot.style.fill = isFilled ? "var(--accent)" : "var(--paper)";
    dot.style.stroke = isFilled ? "var(--paper)" : "var(--quiet)";
    dot.addEventListener("click", () => onChoose(i));
    dot.addEventListener("focus", () => onChoose(i));
    const width = pen.measureText(name).width;
    const [right, before] = [left + 11, left - 11 - width];
    const centred = Math.min(left - width / 2, frame.width - width);
    const places = [
      { start: right, y: top + (x === null ? -6 : 4) },
      { start: before, y: top + 4 },
      { start: centred, y: top - 12 },
      { start: centred, y: top + 20 },
      ...SHIFTS.flatMap((shift) => [right, before].map((start) => ({ start, y: top + shift }))),
    ];
    const isFree = (/** @type {{ start: number, y: number }} */ { start, y }) =>
      start >= MARGIN.left &&
      start + width <= frame.width &&
      labels.every((other) => Math.abs(other.y - y) > 12 || other.start > start + width || start > other.end);
    const { start, y } = places.find(isFree) ?? places[left > frame.width / 2 ? 1 : 0];
    labels.push({ start, end: start + width, y });
    frame.svg.append(drawn("text", { x: start, y, text: name }), dot);
  });
  return element("div", {}, [frame.svg]);
}

/** The axes, and where a value stands between them. */
class Frame {
  /**
   * @param {number[]} xs
   * @param {number[]} ys
   * @param {Axes} axes
   */
  constructor(xs, ys, axes) {
    const height = axes.height ?? 300;
    // As wide as a phone, where the page is shown on one: letters keep their size.
    this.width = Math.min(WIDEST, document.documentElement.clientWidth - 32);
    this.svg = drawn("svg", { class: "chart", viewBox: `0 0 ${this.width} ${height}`, role: "group", "aria-label": `${axes.y} against ${axes.x}` });
    const [left, right] = [MARGIN.left, this.width - MARGIN.right];
    const [top, bottom] = [MARGIN.top, height - MARGIN.bottom];
    const shown = axes.isLog ? xs.map(Math.log10) : xs;
    const [x0, x1] = spread(shown, axes.isLog ? 0.35 : 0);
    const [y0, y1] = spread(axes.fromZero ? [0, ...ys] : ys, 0.06);
    /** @type {(value: number) => number} */
    this.x = (value) => left + (((axes.isLog ? Math.log10(value) : value) - x0) / (x1 - x0)) * (right - left);
    /** @type {(value: number) => number} */
    this.y = (value) => bottom - ((value - y0) / (y1 - y0)) * (bottom - top);
    for (const tick of ticks(y0, y1)) {
      const y = this.y(tick);
      this.svg.append(
        drawn("line", { class: "axis", x1: left, x2: right, y1: y, y2: y }),
        drawn("text", { x: left - 8, y: y + 4, "text-anchor": "end", text: short(tick) }),
      );
    }
    const marks = axes.isLog ? decades(x0, x1) : ticks(x0, x1);
    for (const tick of marks) {
      const x = this.x(axes.isLog ? 10 ** tick : tick);
      this.svg.append(drawn("text", { x, y: bottom + 18, "text-anchor": "middle" }, axes.isLog ? power(tick) : [short(tick)]));
    }
    this.svg.append(
      drawn("text", { x: right, y: height - 4, "text-anchor": "end", text: axes.x }),
      drawn("text", { x: left, y: top - 3, "text-anchor": "start", text: axes.y }),
    );
  }
}

/**
 * @param {number[]} values
 * @param {number} margin
 * @returns {[number, number]}
 */
function spread(values, margin) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const room = high === low ? Math.abs(high) / 10 || 1 : margin < 0.2 ? (high - low) * margin : margin;
  return [low - room, high + room];
}

/**
 * Round numbers between two others, some five of them.
 * @param {number} low
 * @param {number} high
 * @returns {number[]}
 */
export function ticks(low, high) {
  const rough = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((factor) => factor * unit >= rough) ?? 10);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high + 1e-9; n++) found.push(Number((n * step).toPrecision(12)));
  return found;
}

/**
 * @param {number} low
 * @param {number} high
 */
function decades(low, high) {
  const found = [];
  for (let n = Math.ceil(low); n <= high; n++) found.push(n);
  return found;
}

/** @param {number} exponent */
function power(exponent) {
  const raised = drawn("tspan", { dy: "-0.4em", "font-size": "0.8em", text: exponent });
  return ["10", raised];
}

/** @param {number} value */
function short(value) {
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(0);
  return Math.abs(value) >= 10_000 ? `${value / 1000}k` : String(value);
}
