// @ts-check
/** The API key, where the server wants one: kept while the tab is open, and never in the address. */
import { element } from "regard/dom.js";

const NAME = "regard-api-key";

/** @returns {Record<string, string>} the headers that a request needs for it */
export function authorization() {
  const key = sessionStorage.getItem(NAME);
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/** Show a field for the key. The page begins anew with it; what was shown, the address knows. */
export function askForKey() {
  if (document.getElementById("key")) return;
  const field = element("input", {
    type: "password",
    id: "key",
    size: 12,
    autocomplete: "off",
    required: true,
    pattern: "[ -~]+",
    title: "letters, digits and signs of ASCII",
  });
  const form = element("form", { class: "row" }, [
    element("label", {}, ["API key", field]),
    element("button", { class: "button", text: "Use it" }),
  ]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(NAME, field.value.trim());
    location.reload();
  });
  document.querySelector("header")?.append(form);
}
