// @ts-check
/**
 * What stands along the sides of a map: pieces or words, with or without special tokens.
 *
 * @typedef {import("regard/weights.js").Axis} Axis
 * @typedef {import("regard/weights.js").Matrix} Matrix
 *
 * @typedef {{ label: string, gap: string, pieces: number[], isSpecial: boolean }} Unit
 */

/**
 * @param {Axis} axis
 * @param {{ words: boolean, specials: boolean }} shown
 * @returns {Unit[]}
 */
export function unitsOf(axis, shown) {
  const isSpecial = (/** @type {number} */ piece) => axis.special.includes(piece);
  const { words, gaps, word_of: wordOf } = axis;
  const ofPieces = axis.pieces.map((label, piece) => ({
    label,
    gap: "",
    pieces: [piece],
    isSpecial: isSpecial(piece),
  }));
  if (!shown.words || !words || !gaps || !wordOf) {
    return ofPieces.filter((unit) => shown.specials || !unit.isSpecial);
  }
  const ofWords = words.map((label, word) => ({
    label,
    gap: gaps[word],
    pieces: wordOf.flatMap((of, piece) => (of === word ? [piece] : [])),
    isSpecial: false,
  }));
  if (!shown.specials) return ofWords;
  const specials = ofPieces.filter((unit) => unit.isSpecial);
  const before = specials.filter((unit) => unit.pieces[0] === 0 && axis.pieces.length > 1);
  const after = specials.filter((unit) => !before.includes(unit));
  return [...before, ...ofWords, ...after.map((unit) => ({ ...unit, gap: " " }))];
}

/**
 * Weights between units: one receives what its pieces receive together, and looks where its
 * pieces look on average (`merge_to_words` in `regard/lens/words.py`).
 * @param {Matrix} matrix
 * @param {Unit[]} rows
 * @param {Unit[]} columns
 * @returns {Matrix}
 */
export function merge(matrix, rows, columns) {
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach((row, i) => {
    columns.forEach((column, j) => {
      let sum = 0;
      for (const from of row.pieces) {
        for (const to of column.pieces) sum += matrix.values[from * matrix.columns + to];
      }
      values[i * columns.length + j] = sum / Math.max(row.pieces.length, 1);
    });
  });
  return { rows: rows.length, columns: columns.length, values };
}
