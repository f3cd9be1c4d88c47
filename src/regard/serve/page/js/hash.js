// @ts-check
/** What is shown, in the address: a link opens the same picture. */

/**
 * @template {Record<string, string | number | boolean>} State
 * @param {State} state
 * @param {State} start what need not be said
 * @returns {string} without the #
 */
export function toHash(state, start) {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== start[name]) said.set(name, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  return said.toString();
}

/**
 * The state of an address; what it says of no known name, or in no known form, is not heard.
 * @template {Record<string, string | number | boolean>} State
 * @param {string} hash with or without the #
 * @param {State} start
 * @returns {State}
 */
export function fromHash(hash, start) {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const state = /** @type {Record<string, string | number | boolean>} */ ({ ...start });
  for (const [name, before] of Object.entries(start)) {
    const value = said.get(name);
    if (value === null) continue;
    if (typeof before === "boolean") state[name] = value === "1";
    else if (typeof before === "string") state[name] = value;
    else if (/^\d{1,6}$/.test(value)) state[name] = Number(value);
  }
  return /** @type {State} */ (state);
}
