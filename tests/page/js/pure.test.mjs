// What the page computes without a page: run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

import { readEvents } from "../../../src/regard/serve/page/js/api.js";
import { ticks } from "../../../src/regard/serve/page/js/chart.js";
import { Decoding } from "../../../src/regard/serve/page/js/decoding.js";
import { fromHash, toHash } from "../../../src/regard/serve/page/js/hash.js";
import { destination } from "../../../src/regard/serve/page/js/roving.js";
import { merge, unitsOf } from "../../../src/regard/serve/page/js/units.js";
import { chosen, columnOf, mean, rowOf, unpack } from "../../../src/regard/serve/page/js/weights.js";

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

/** As `pack` of `regard/lens/wire.py` writes: the largest of each row, then all bytes. */
const packed = (largest, bytes) => {
  const content = Buffer.alloc(4 * largest.length + bytes.length);
  largest.forEach((value, i) => content.writeFloatLE(value, 4 * i));
  content.set(bytes, 4 * largest.length);
  return deflateSync(content).toString("base64");
};

test("weights are unpacked head by head, each row by its own scale", async () => {
  // Two layers of one head, two rows of three columns.
  const weights = packed([1, 0.5, 0.25, 0], [255, 0, 51, 0, 255, 102, 255, 255, 0, 0, 0, 0]);
  const rollout = packed([0.5, 0.5], [255, 255, 0, 0, 255, 255]);
  const kind = await unpack({ rows: "target", columns: "source", shape: [2, 1, 2, 3], weights, rollout });
  assert.deepEqual([kind.layers, kind.heads, kind.matrices.length], [2, 1, 2]);
  const rounded = (values) => [...values].map((value) => Number(value.toFixed(4)));
  assert.deepEqual(rounded(kind.matrices[0].values), [1, 0, 0.2, 0, 0.5, 0.2]);
  assert.deepEqual(rounded(kind.matrices[1].values), [0.25, 0.25, 0, 0, 0, 0]);
  assert.deepEqual(rounded(kind.rollout.values), [0.5, 0.5, 0, 0, 0.5, 0.5]);
  assert.deepEqual(rounded(rowOf(kind.matrices[0], 1)), [0, 0.5, 0.2]);
  assert.deepEqual(rounded(columnOf(kind.matrices[0], 2)), [0.2, 0.2]);
});

test("what has no rollout is unpacked without one", async () => {
  const kind = await unpack({ rows: "", columns: "", shape: [1, 1, 1, 1], weights: packed([1], [255]) });
  assert.equal(kind.rollout, null);
  assert.deepEqual([...kind.matrices[0].values], [1]);
});

const node = (id, parent, piece, log_prob) => ({ id, parent, piece, probability: 0.5, log_prob, rivals: [] });

test("a search is a tree with the best along the top", () => {
  const decoding = new Decoding();
  decoding.add({ sentence: 0, is_end: false, nodes: [node(1, 0, "a", -1), node(2, 0, "b", -2)] });
  decoding.add({ sentence: 0, is_end: false, nodes: [node(3, 2, "c", -2.5), node(4, 1, "d", -3)] });
  decoding.add({ sentence: 0, is_end: true, nodes: [node(5, 3, "</s>", -2.6)] });
  decoding.end({ sentence: 0, endings: [{ text: "bc", score: -1, node: 5 }] });
  assert.deepEqual(decoding.best().map(({ piece }) => piece), ["b", "c", "</s>"]);
  assert.deepEqual([...decoding.lived()].sort(), [2, 3, 5]);
  const places = Object.fromEntries(decoding.places().map(({ node: { piece }, step, lane }) => [piece, [step, lane]]));
  assert.deepEqual(places, { b: [0, 0], c: [1, 0], "</s>": [2, 0], a: [0, 1], d: [1, 1] });
});

test("a lane is used again once it is free, and never by two at a time", () => {
  const decoding = new Decoding();
  for (let step = 0; step < 6; step++) {
    decoding.add({ sentence: 0, is_end: false, nodes: [node(2 * step + 1, Math.max(2 * step - 1, 0), "x", -step), node(2 * step + 2, Math.max(2 * step - 1, 0), "y", -step - 1)] });
  }
  decoding.end({ sentence: 0, endings: [{ text: "", score: 0, node: 11 }] });
  const places = decoding.places();
  assert.equal(new Set(places.map(({ step, lane }) => `${step} ${lane}`)).size, 12);
  assert.ok(Math.max(...places.map(({ lane }) => lane)) <= 2);
});

test("events are read whole, whatever way they are cut", () => {
  const text = 'event: step\ndata: {"a": 1}\n\n: a comment\n\ndata: x\ndata: y\n\nevent: st';
  const whole = readEvents(text);
  assert.deepEqual(whole.events, [{ event: "step", data: '{"a": 1}' }, { event: "message", data: "x\ny" }]);
  assert.equal(whole.rest, "event: st");
  let waiting = "";
  const found = [];
  for (const char of text) {
    const { events, rest } = readEvents(waiting + char);
    found.push(...events);
    waiting = rest;
  }
  assert.deepEqual(found, whole.events);
});

test("ticks are round and lie between the ends", () => {
  assert.deepEqual(ticks(0, 100), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(-0.3, 1.1), [0, 0.5, 1]);
});
