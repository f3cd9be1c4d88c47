// What the page computes without a page: run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { fromHash, toHash } from "../../../src/regard/serve/page/js/hash.js";
import { destination } from "../../../src/regard/serve/page/js/roving.js";
import { merge, unitsOf } from "../../../src/regard/serve/page/js/units.js";
import { chosen, mean } from "../../../src/regard/serve/page/js/weights.js";

const matrix = (rows, columns, values) => ({ rows, columns, values: Float32Array.from(values) });
const START = { kind: "cross", layer: 0, words: true, text: "" };

test("a hash round-trips, whatever the text", () => {
  for (const text of ["", "a b&c=d#e%20", "<script>", "Où est la gare ? 🚉", "שלום"]) {
    const state = { kind: "encoder", layer: 3, words: false, text };
    assert.deepEqual(fromHash(`#${toHash(state, START)}`, START), state);
  }
});

test("what is as it was need not be said", () => {
  assert.equal(toHash(START, START), "");
  assert.deepEqual(fromHash("", START), START);
});

test("a hash that says nonsense is not heard", () => {
  assert.deepEqual(fromHash("#layer=-1&layer2=x&__proto__=1&words=yes", START), { ...START, words: false });
  assert.deepEqual(fromHash("#layer=1e9", START), START);
});

test("arrow keys go through a grid and stop at its ends", () => {
  const shape = { columns: 3 };
  assert.equal(destination("ArrowRight", 0, 6, shape), 1);
  assert.equal(destination("ArrowDown", 1, 6, shape), 4);
  assert.equal(destination("ArrowUp", 1, 6, shape), null);
  assert.equal(destination("ArrowRight", 5, 6, shape), null);
  assert.equal(destination("Home", 5, 6, shape), 3);
  assert.equal(destination("End", 3, 6, shape), 5);
  assert.equal(destination("x", 3, 6, shape), null);
});

test("in a sentence that runs to the left, the left arrow goes on", () => {
  assert.equal(destination("ArrowLeft", 0, 3, { isRightToLeft: true }), 1);
  assert.equal(destination("ArrowRight", 0, 3, { isRightToLeft: true }), null);
});

const AXIS = {
  pieces: ["▁vis", "ite", "▁ici", "</s>"],
  special: [3],
  words: ["visite", "ici"],
  gaps: ["", " "],
  word_of: [0, 0, 1, -1],
};

test("a word receives what its pieces receive together, and looks as they do on average", () => {
  const units = unitsOf(AXIS, { words: true, specials: false });
  const weights = matrix(4, 4, [0.5, 0.5, 0, 0, 0.1, 0.2, 0.3, 0.4, 0, 0, 1, 0, 0.25, 0.25, 0.25, 0.25]);
  const merged = merge(weights, units, units);
  assert.deepEqual([...merged.values].map((v) => v.toFixed(4)), ["0.6500", "0.1500", "0.0000", "1.0000"]);
});

test("rows still sum to one while nothing is hidden", () => {
  const units = unitsOf(AXIS, { words: true, specials: true });
  assert.deepEqual(units.map((unit) => unit.label), ["visite", "ici", "</s>"]);
  const even = matrix(4, 4, Array(16).fill(0.25));
  const merged = merge(even, units, units);
  for (let row = 0; row < 3; row++) {
    const sum = merged.values.slice(3 * row, 3 * row + 3).reduce((a, b) => a + b);
    assert.ok(Math.abs(sum - 1) < 1e-6);
  }
});

test("layer and head 0 are means", () => {
  const heads = [1, 2, 3, 4].map((value) => matrix(1, 1, [value]));
  const kind = { layers: 2, heads: 2, matrices: heads, rollout: null };
  const value = (layer, head) => chosen(kind, layer, head).values[0];
  assert.deepEqual([value(2, 1), value(1, 0), value(0, 2), value(0, 0)], [3, 1.5, 3, 2.5]);
  assert.equal(mean(heads).values[0], 2.5);
});
