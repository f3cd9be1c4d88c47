// @ts-check
/**
 * Attention weights as they travel: 8-bit integers a row, deflated, in base64.
 * `regard/lens/wire.py` writes them and says what each field means.
 *
 * @typedef {{ pieces: string[], special: number[], words?: string[], gaps?: string[], word_of?: number[] }} Axis
 * @typedef {{ rows: string, columns: string, shape: number[], weights: string, rollout?: string }} PackedKind
 * @typedef {{ model: string, axes: Record<string, Axis>, kinds: Record<string, PackedKind> }} Wire
 *
 * One matrix of weights, row after row.
 * @typedef {{ rows: number, columns: number, values: Float32Array }} Matrix
 *
 * Every layer and head of one kind, and what the rollout made of them.
 * @typedef {{ layers: number, heads: number, matrices: Matrix[], rollout: Matrix | null }} Kind
 */

/**
 * Read one kind of attention.
 * @param {PackedKind} packed
 * @returns {Promise<Kind>}
 */
export async function unpack(packed) {
  const [layers, heads, rows, columns] = packed.shape;
  const matrices = await unpackMatrices(packed.weights, rows, columns);
  const rollout = packed.rollout ? (await unpackMatrices(packed.rollout, rows, columns))[0] : null;
  return { layers, heads, matrices, rollout };
}

/**
 * @param {string} packed
 * @param {number} rows
 * @param {number} columns
 * @returns {Promise<Matrix[]>}
 */
export async function unpackMatrices(packed, rows, columns) {
  const content = await inflate(Uint8Array.from(atob(packed), (char) => char.charCodeAt(0)));
  const numRows = content.byteLength / (4 + columns);
  const largest = new DataView(content);
  const bytes = new Uint8Array(content, 4 * numRows);
  const matrices = [];
  for (let first = 0; first < numRows; first += rows) {
    const values = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row++) {
      const scale = largest.getFloat32(4 * (first + row), true) / 255;
      for (let column = 0; column < columns; column++) {
        values[row * columns + column] = scale * bytes[(first + row) * columns + column];
      }
    }
    matrices.push({ rows, columns, values });
  }
  return matrices;
}

/**
 * One layer and head, counted from 1; 0 is the mean over all of them.
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 * @returns {Matrix}
 */
export function chosen(kind, layer, head) {
  const picked = kind.matrices.filter(
    (_, i) =>
      (!layer || Math.floor(i / kind.heads) === layer - 1) && (!head || i % kind.heads === head - 1),
  );
  return picked.length === 1 ? picked[0] : mean(picked);
}

/**
 * @param {Matrix[]} matrices of one shape
 * @returns {Matrix}
 */
export function mean(matrices) {
  const { rows, columns } = matrices[0];
  const values = new Float32Array(rows * columns);
  for (const matrix of matrices) {
    for (let i = 0; i < values.length; i++) values[i] += matrix.values[i] / matrices.length;
  }
  return { rows, columns, values };
}

/**
 * @param {Matrix} matrix
 * @returns {number}
 */
export function largest(matrix) {
  return matrix.values.reduce((most, value) => Math.max(most, value), 0);
}

/**
 * @param {Matrix} matrix
 * @param {number} row
 * @returns {Float32Array}
 */
export function rowOf(matrix, row) {
  return matrix.values.slice(row * matrix.columns, (row + 1) * matrix.columns);
}

/**
 * @param {Matrix} matrix
 * @param {number} column
 * @returns {Float32Array}
 */
export function columnOf(matrix, column) {
  return matrix.values.filter((_, i) => i % matrix.columns === column);
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<ArrayBuffer>}
 */
function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
