// @ts-check
/** Buttons that stay pressed, alone and in groups. */
import { element } from "regard/dom.js";

/**
 * @param {string} text
 * @param {() => void} act
 */
export function toggle(text, act) {
  const button = element("button", { type: "button", class: "plain", text });
  button.addEventListener("click", act);
  return button;
}

/**
 * @param {string} name
 * @param {HTMLElement[]} buttons
 */
export function group(name, buttons) {
  return element("span", { class: "choice", role: "group", "aria-label": name }, buttons);
}

/**
 * @param {HTMLElement} button
 * @param {boolean} isPressed
 */
export function press(button, isPressed) {
  button.setAttribute("aria-pressed", String(isPressed));
}
