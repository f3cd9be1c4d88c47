// @ts-check
/** A file of its own: the view of the data that stands in the page, its state in the address. */
import { START } from "regard/attention-view.js";
import { download } from "regard/dom.js";
import { fromHash, toHash } from "regard/hash.js";

/**
 * @typedef {import("regard/attention-view.js").AttentionView} AttentionView
 */
const view = /** @type {AttentionView} */ (document.querySelector("attention-view"));
const data = document.getElementById("attention-data")?.textContent ?? "";

view.state = fromHash(location.hash, START);
view.data = JSON.parse(data);
view.addEventListener("change", () => history.replaceState(null, "", `#${toHash(view.state, START)}`));
addEventListener("hashchange", () => (view.state = fromHash(location.hash, START)));
document.getElementById("png")?.addEventListener("click", async () => {
  download(await view.png(), "attention.png");
});
