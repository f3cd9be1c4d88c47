// @ts-check
/** The looks of `<attention-view>`; a page may set the same custom properties around it. */
export const style = `
:host {
  --paper: light-dark(#ffffff, #12151c);
  --sheet: light-dark(#f7f8fb, #171b24);
  --text: light-dark(#1b2233, #e3e8f2);
  --quiet: light-dark(#69728a, #929cb3);
  --line: light-dark(#dfe4ee, #2b3242);
  --accent: light-dark(#2f62ad, #86b1ee);
  --warm: light-dark(#c2571a, #f0a36b);
  display: block;
  color-scheme: light dark;
  color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif;
  container-type: inline-size;
}
* { box-sizing: border-box; }
[hidden], :host([data-empty]) > :not(.none), :host(:not([data-empty])) > .none { display: none !important; }
.none { color: var(--quiet); margin: 0; }
button, label { font: inherit; color: inherit; }
button:focus-visible, canvas:focus-visible, input:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 2px;
}
.sentences { position: relative; isolation: isolate; padding: .25rem 0 0; }
.side { display: flex; gap: 1rem; align-items: baseline; }
.side > .name { flex: 0 0 5.5rem; color: var(--quiet); font-size: .8125rem; }
.sentence { flex: 1; font-size: 1.125rem; line-height: 2; white-space: pre-wrap; overflow-wrap: anywhere; }
.between { height: 3.25rem; }
.word {
  border: 0; padding: .12em .1em; margin: 0; background: none; border-radius: .25em;
  cursor: pointer; white-space: pre-wrap; line-height: 1.35; transition: background-color .12s;
}
.sentence.pieces .word { margin: 0 .08em; box-shadow: inset 0 0 0 1px var(--line); }
.word.special { color: var(--quiet); font-size: .85em; }
.word.chosen { box-shadow: inset 0 0 0 2px var(--warm) !important; }
svg.lines { position: absolute; inset: 0; width: 100%; height: 100%; z-index: -1; pointer-events: none; overflow: visible; }
svg.lines path { fill: none; stroke: var(--accent); stroke-linecap: round; }
.bar {
  display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center;
  border-block: 1px solid var(--line); padding: .5rem 0; margin: 1rem 0;
}
.tabs, .choice { display: inline-flex; gap: .125rem; }
.tabs button, .choice button, .plain {
  border: 0; background: none; padding: .3rem .65rem; border-radius: .4rem; cursor: pointer; color: var(--quiet);
}
.tabs button:hover, .choice button:hover, .plain:hover { color: var(--text); background: var(--sheet); }
.tabs button[aria-selected="true"], .choice button[aria-pressed="true"], .plain[aria-pressed="true"] {
  color: var(--text); background: light-dark(#e8edf7, #232b3c); font-weight: 550;
}
.space { flex: 1; }
.tick { display: inline-flex; gap: .4rem; align-items: center; color: var(--quiet); cursor: pointer; }
.tick input { accent-color: var(--accent); margin: 0; }
.maps { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 7fr); gap: 2rem; align-items: start; }
.maps.alone { grid-template-columns: minmax(0, 1fr); }
.maps.alone .heads { display: none; }
.grid { display: grid; gap: 4px; align-items: center; justify-items: center; }
.grid .number { color: var(--quiet); font-size: .6875rem; font-variant-numeric: tabular-nums; }
.grid .number.row { justify-self: end; padding-right: .25rem; }
.thumb { width: 100%; max-width: 88px; padding: 2px; border: 0; background: none; border-radius: 5px; cursor: pointer; line-height: 0; }
.thumb canvas { width: 100%; aspect-ratio: 1; image-rendering: pixelated; border-radius: 3px; background: var(--sheet); }
.thumb:hover { background: var(--line); }
.thumb[aria-pressed="true"] { background: var(--accent); }
.caption { color: var(--quiet); font-size: .8125rem; margin: .75rem 0 0; min-height: 1.25rem; }
.title { display: flex; gap: .75rem; align-items: baseline; margin: 0 0 .5rem; font-size: .9375rem; font-weight: 550; }
.title button { font-weight: 400; font-size: .8125rem; }
.map { overflow-x: auto; }
.map canvas { display: block; cursor: crosshair; border-radius: 2px; }
.reading { min-height: 1.5rem; color: var(--quiet); font-variant-numeric: tabular-nums; margin: .5rem 0 0; }
.reading b { color: var(--text); font-weight: 550; }
@container (max-width: 720px) {
  .maps { grid-template-columns: minmax(0, 1fr); gap: 1.25rem; }
  .side { flex-direction: column; gap: 0; }
  .side > .name { flex: none; }
  .between + .side > .name { order: 1; }
  .sentence { line-height: 1.9; font-size: 1.0625rem; }
  .thumb { max-width: 64px; }
  .bar { gap: .35rem .75rem; }
  .space { display: none; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
`;
