// @ts-check
/** A small matrix as a table whose cells are shaded. */
import { colour, css, ink, ramp } from "regard/colours.js";
import { element } from "regard/dom.js";

/**
 * @param {(number | null)[][]} rows null is an empty cell
 * @param {{ caption?: string, rowNames?: string[], columnNames?: string[], isShaded?: boolean, digits?: number | number[], onEdit?: (row: number, column: number, value: number) => void }} [options]
 * @returns {HTMLTableElement}
 */
export function matrixTable(rows, options = {}) {
  const { caption, rowNames, columnNames, isShaded, digits = 2, onEdit } = options;
  const most = Math.max(...rows.flat().map((value) => Math.abs(value ?? 0))) || 1;
  const stops = ramp();
  const cell = (/** @type {number | null} */ value, /** @type {number} */ i, /** @type {number} */ j) => {
    if (value === null) return element("td", { class: "empty" });
    if (onEdit) {
      const name = `${caption ?? ""} row ${i + 1}, column ${j + 1}`;
      const input = element("input", { type: "number", value, step: "any", "aria-label": name });
      input.addEventListener("change", () => onEdit(i, j, Number(input.value)));
      return element("td", {}, [input]);
    }
    const made = element("td", { text: tidy(value, Array.isArray(digits) ? digits[j] : digits) });
    if (isShaded) {
      const shade = colour(Math.abs(value) / most, stops);
      made.style.backgroundColor = css(shade);
      made.style.color = ink(shade);
    }
    return made;
  };
  const head = columnNames
    ? [element("tr", {}, [element("th"), ...columnNames.map((text) => element("th", { scope: "col", dir: "auto", text }))])]
    : [];
  return element("table", { class: "matrix" }, [
    ...(caption ? [element("caption", { text: caption })] : []),
    element("tbody", {}, [
      ...head,
      ...rows.map((row, i) =>
        element("tr", {}, [
          ...(rowNames ? [element("th", { scope: "row", dir: "auto", text: rowNames[i] })] : []),
          ...row.map((value, j) => cell(value, i, j)),
        ]),
      ),
    ]),
  ]);
}

/**
 * @param {number} value
 * @param {number} digits
 */
function tidy(value, digits) {
  const text = value.toFixed(digits);
  return Number.isInteger(value) && digits < 3 ? String(value) : text.replace(/^-(0\.?0*)$/, "$1");
}
