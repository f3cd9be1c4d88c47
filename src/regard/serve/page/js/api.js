// @ts-check
/** The server's API: JSON both ways, and server-sent events while it decodes. */
import { askForKey, authorization } from "regard/key.js";

const SILENCE = "the server does not answer";

/** What the server refuses, in its own words; or that it says nothing. */
export class Refused extends Error {}

/**
 * What went wrong, for a reader. A fault of the page's own is thrown on after it was told.
 * @param {unknown} error
 * @param {(line: string) => void} say
 */
export function tellRefusal(error, say) {
  say(error instanceof Error ? error.message : String(error));
  if (!(error instanceof Refused)) throw error;
}

/**
 * @param {string} path
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
export async function get(path, { signal } = {}) {
  return (await answered(fetch(path, { headers: authorization(), signal }))).json();
}

/**
 * @param {string} path
 * @param {object} body
 * @param {{ signal?: AbortSignal, accept?: string }} [options]
 * @returns {Promise<Response>}
 */
export function send(path, body, { signal, accept = "application/json" } = {}) {
  return answered(
    fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: accept, ...authorization() },
      body: JSON.stringify(body),
      signal,
    }),
  );
}

/**
 * @param {string} path
 * @param {object} body
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
export async function post(path, body, options) {
  return (await send(path, body, options)).json();
}

/**
 * Events as they come; one that tells of an error ends them.
 * @param {string} path
 * @param {object} body
 * @param {(event: string, data: any) => void} tell
 * @param {{ signal?: AbortSignal }} [options]
 */
export async function stream(path, body, tell, { signal } = {}) {
  const answer = await send(path, body, { signal, accept: "text/event-stream" });
  if (!answer.body) return;
  let waiting = "";
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(silence);
    if (done) return;
    const { events, rest } = readEvents(waiting + value);
    waiting = rest;
    for (const { event, data } of events) {
      const told = JSON.parse(data);
      if (event === "error") throw new Refused(told.error);
      tell(event, told);
    }
  }
}

/**
 * The whole events of a stream (HTML Standard, section 9.2), and the beginning of the next.
 * @param {string} text
 * @returns {{ events: { event: string, data: string }[], rest: string }}
 */
export function readEvents(text) {
  const blocks = text.split(/\r?\n\r?\n/);
  const rest = blocks.pop() ?? "";
  const events = blocks.flatMap((block) => {
    let event = "message";
    /** @type {string[]} */
    const data = [];
    for (const line of block.split(/\r?\n/)) {
      const [, name, value] = /^(\w*): ?(.*)$/.exec(line) ?? [];
      if (name === "event") event = value;
      if (name === "data") data.push(value);
    }
    return data.length ? [{ event, data: data.join("\n") }] : [];
  });
  return { events, rest };
}

/**
 * @param {Promise<Response>} asked
 * @returns {Promise<Response>}
 */
async function answered(asked) {
  const answer = await asked.catch(silence);
  if (answer.ok) return answer;
  if (answer.status === 403) askForKey();
  const said = await answer.json().catch(() => ({}));
  throw new Refused(typeof said.error === "string" ? said.error : answer.statusText);
}

/**
 * @param {unknown} error of the connection
 * @returns {never}
 */
function silence(error) {
  throw error instanceof DOMException && error.name === "AbortError" ? error : new Refused(SILENCE);
}
