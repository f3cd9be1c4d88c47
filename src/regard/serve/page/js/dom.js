// @ts-check
/**
 * Elements with their text and attributes. Text enters the page here, as text and nothing else.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes] false, null
 *   and undefined are left out; `text` becomes the text
 * @param {(Node | string)[]} [children] strings become text
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "text") made.textContent = String(value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * The same for the elements of a drawing.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} [attributes] `text` becomes the text
 * @param {(Node | string)[]} [children]
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function drawn(tag, attributes = {}, children = []) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = String(value);
    else made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

/**
 * Offer a file to be saved.
 * @param {Blob} content
 * @param {string} name
 */
export function download(content, name) {
  const link = element("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
