// @ts-check
/**
 * What is lit on a map, in words.
 *
 * @typedef {import("regard/heat-map.js").Lit} Lit
 * @typedef {import("regard/units.js").Unit} Unit
 */
import { element } from "regard/dom.js";
import { hundredths } from "regard/heat-map.js";

/** Words named of a row or a column. */
const NAMED = 4;

/**
 * @param {Lit} lit
 * @param {Unit[]} rows
 * @param {Unit[]} columns
 * @param {Float32Array | null} ofRow weights of the row that is lit
 * @param {Float32Array | null} ofColumn those of the column
 * @returns {(Node | string)[]}
 */
export function reading({ row, column }, rows, columns, ofRow, ofColumn) {
  if (row !== null && column !== null && ofRow) {
    return [bold(rows[row]), " → ", bold(columns[column]), ` ${ofRow[column].toFixed(3)}`];
  }
  if (row !== null && ofRow) return [bold(rows[row]), " looks at", ...best(ofRow, columns)];
  if (column !== null && ofColumn) return [bold(columns[column]), " is looked at by", ...best(ofColumn, rows)];
  return [];
}

/** @param {Unit} unit */
function bold(unit) {
  return element("b", { text: unit.label, dir: "auto" });
}

/**
 * @param {Float32Array} weights
 * @param {Unit[]} units
 * @returns {(Node | string)[]}
 */
function best(weights, units) {
  return [...weights.keys()]
    .sort((a, b) => weights[b] - weights[a])
    .slice(0, NAMED)
    .flatMap((i) => [" ", bold(units[i]), ` ${hundredths(weights[i])} `]);
}
