// @ts-check
/**
 * The ramp of colours for weights: `regard/lens/colours.py`, and one of light on dark.
 *
 * @typedef {[number, number, number]} Colour
 * @typedef {Colour[]} Ramp
 */

/** @type {Ramp} */
export const LIGHT = ["#f5f7fb", "#d3dff1", "#a3bfe3", "#6a97cf", "#3a6bb0", "#1f4585", "#11264f"].map(parse);
/** @type {Ramp} */
export const DARK = ["#171b24", "#1d2b45", "#25447a", "#3565ad", "#5b8fd6", "#9cc0ee", "#e6f0ff"].map(parse);

/** @returns {boolean} */
export function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** @returns {Ramp} the one that suits the reader */
export function ramp() {
  return isDark() ? DARK : LIGHT;
}

/**
 * The colour of a weight between 0 and 1.
 * @param {number} weight
 * @param {Ramp} stops
 * @returns {Colour}
 */
export function colour(weight, stops) {
  const place = Math.min(Math.max(weight, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const share = place - low;
  const [red, green, blue] = stops[low].map((value, i) =>
    Math.round(value + share * (stops[low + 1][i] - value)),
  );
  return [red, green, blue];
}

/**
 * @param {Colour} rgb
 * @returns {string}
 */
export function css([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}

/**
 * Dark or pale: what is read better on a background.
 * @param {Colour} background
 * @returns {string}
 */
export function ink([red, green, blue]) {
  const luminance = (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
  return luminance < 0.5 ? "#f5f7fb" : "#11264f";
}

/**
 * @param {string} code
 * @returns {Colour}
 */
function parse(code) {
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(code.slice(i, i + 2), 16));
  return [red, green, blue];
}
