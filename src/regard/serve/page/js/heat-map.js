// @ts-check
/**
 * Matrices on canvas: small ones without names, and one large map with its words.
 *
 * @typedef {import("regard/weights.js").Matrix} Matrix
 * @typedef {import("regard/colours.js").Ramp} Ramp
 * @typedef {{ row: number | null, column: number | null }} Lit
 *
 * Where things stand on a map, in CSS pixels.
 * @typedef {{ left: number, top: number, cell: number, width: number, height: number, isSteep: boolean, letters: number }} Geometry
 */
import { colour, css, ink } from "regard/colours.js";
import { largest } from "regard/weights.js";

/** What is left of the colours beside the row and the column that are lit. */
const FAINT = 0.45;
export const FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif";
const STEEP = -Math.PI / 3;
const MAX_LABEL = 132;
const LARGEST_CELL = 46;
const SMALLEST_CELL = 9;
/** From this size on a cell has its weight written into it. */
const NUMBERED = 30;

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Matrix} matrix
 * @param {Ramp} ramp
 */
export function drawThumbnail(canvas, matrix, ramp) {
  canvas.width = Math.max(matrix.columns, 1);
  canvas.height = Math.max(matrix.rows, 1);
  const context = contextOf(canvas);
  const image = context.createImageData(canvas.width, canvas.height);
  const most = largest(matrix) || 1;
  for (let i = 0; i < matrix.values.length; i++) {
    image.data.set([...colour(matrix.values[i] / most, ramp), 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
}

/**
 * How large a map becomes in a given width.
 * @param {string[]} rows
 * @param {string[]} columns
 * @param {number} room
 * @returns {Geometry}
 */
export function measure(rows, columns, room) {
  const context = contextOf(document.createElement("canvas"));
  const widest = (/** @type {string[]} */ labels, /** @type {number} */ letters) => {
    context.font = `600 ${letters}px ${FONT}`;  // as bold as the label that is pointed at
    return Math.min(MAX_LABEL, Math.max(0, ...labels.map((label) => context.measureText(label).width)));
  };
  const many = Math.max(columns.length, 1);
  let letters = 14;
  let left = widest(rows, letters) + 12;
  let cell = Math.min((room - left - 8) / many, LARGEST_CELL);
  if (cell < 17) {
    letters = Math.max(9, Math.min(12, cell - 1));
    left = widest(rows, letters) + 10;
    cell = (room - left - 8) / many;
  }
  cell = Math.max(Math.floor(cell), SMALLEST_CELL);
  const top = widest(columns, letters);
  const isSteep = top > cell - 4;
  // A steep name leans over to the right of its column.
  const above = isSteep ? top * Math.sin(-STEEP) + letters + 4 : letters + 10;
  const lean = isSteep ? top * Math.cos(STEEP) : 0;
  return {
    left,
    top: above,
    cell,
    letters,
    isSteep,
    width: left + cell * many + Math.max(8, lean),
    height: above + cell * Math.max(rows.length, 1) + 4,
  };
}

/**
 * Draw a map: what looked on the left, what was looked at on top, the lit row and column clear
 * and all others pale.
 * @param {HTMLCanvasElement} canvas
 * @param {Matrix} matrix
 * @param {string[]} rows
 * @param {string[]} columns
 * @param {{ place: Geometry, ramp: Ramp, lit: Lit, text: string, quiet: string, scale: number }} style
 */
export function drawHeatMap(canvas, matrix, rows, columns, style) {
  const { place, ramp, lit, scale } = style;
  canvas.width = Math.ceil(place.width * scale);
  canvas.height = Math.ceil(place.height * scale);
  canvas.style.width = `${place.width}px`;
  canvas.style.height = `${place.height}px`;
  const context = contextOf(canvas);
  context.scale(scale, scale);
  context.textBaseline = "middle";
  const isLit = lit.row !== null || lit.column !== null;
  const most = largest(matrix) || 1;
  const gap = place.cell > 14 ? 1 : 0;
  for (let i = 0; i < matrix.rows; i++) {
    for (let j = 0; j < matrix.columns; j++) {
      const weight = matrix.values[i * matrix.columns + j];
      const [x, y] = [place.left + j * place.cell, place.top + i * place.cell];
      const full = colour(weight / most, ramp);
      const isClear = !isLit || lit.row === i || lit.column === j;
      const shade = isClear ? full : colour(FAINT, [ramp[0], full]);
      context.fillStyle = css(shade);
      context.fillRect(x, y, place.cell - gap, place.cell - gap);
      if (place.cell >= NUMBERED && weight >= 0.005) {
        context.font = `${place.letters - 3}px ${FONT}`;
        context.textAlign = "center";
        context.fillStyle = ink(shade);
        context.fillText(hundredths(weight), x + place.cell / 2, y + place.cell / 2 + 0.5);
      }
    }
  }
  outline(context, place, matrix, lit, css(ramp[4]));
  const write = (/** @type {boolean} */ isBold) => {
    context.font = `${isBold ? 600 : 400} ${place.letters}px ${FONT}`;
    context.fillStyle = isBold || !isLit ? style.text : style.quiet;
  };
  rows.forEach((label, i) => {
    write(lit.row === i);
    context.textAlign = "right";
    context.fillText(fitted(context, label), place.left - 8, place.top + (i + 0.5) * place.cell);
  });
  columns.forEach((label, j) => {
    write(lit.column === j);
    context.save();
    context.translate(place.left + (j + 0.5) * place.cell, place.top - (place.isSteep ? 5 : 11));
    if (place.isSteep) context.rotate(STEEP);
    context.textAlign = place.isSteep ? "left" : "center";
    context.fillText(fitted(context, label), 0, 0);
    context.restore();
  });
}

/**
 * The cell under a point of the canvas; a name counts for its whole row or column.
 * @param {Geometry} place
 * @param {{ rows: number, columns: number }} shape
 * @param {number} x
 * @param {number} y
 * @returns {Lit}
 */
export function cellAt(place, shape, x, y) {
  const row = Math.floor((y - place.top) / place.cell);
  const column = Math.floor((x - place.left) / place.cell);
  const hasRow = row >= 0 && row < shape.rows;
  const hasColumn = column >= 0 && column < shape.columns;
  return {
    row: hasRow && (hasColumn || x < place.left) ? row : null,
    column: hasColumn && (hasRow || y < place.top) ? column : null,
  };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Geometry} place
 * @param {Matrix} matrix
 * @param {Lit} lit
 * @param {string} accent
 */
function outline(context, place, matrix, lit, accent) {
  const { left, top, cell } = place;
  context.strokeStyle = accent;
  context.lineWidth = 1.5;
  if (lit.row !== null) {
    context.strokeRect(left - 1, top + lit.row * cell - 1, matrix.columns * cell + 1, cell + 1);
  }
  if (lit.column !== null) {
    context.strokeRect(left + lit.column * cell - 1, top - 1, cell + 1, matrix.rows * cell + 1);
  }
}

/**
 * @param {number} weight
 * @returns {string} such as .07, or 1
 */
export function hundredths(weight) {
  const rounded = weight.toFixed(2);
  return rounded.startsWith("1") ? "1" : rounded.slice(1);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} label
 * @returns {string} cut with … where it is too long
 */
function fitted(context, label) {
  if (context.measureText(label).width <= MAX_LABEL) return label;
  const characters = [...label];
  while (characters.length && context.measureText(`${characters.join("")}…`).width > MAX_LABEL) {
    characters.pop();
  }
  return `${characters.join("")}…`;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @returns {CanvasRenderingContext2D}
 */
export function contextOf(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no canvas");
  return context;
}
