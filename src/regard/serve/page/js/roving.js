// @ts-check
/**
 * One stop of the Tab key for a whole set of buttons; arrow keys go between them.
 *
 * @param {HTMLElement} container
 * @param {{ columns?: () => number, onMove?: (index: number) => void }} [options] with `columns`
 *   the buttons are a grid, and up and down go by its rows
 * @returns {{ items: () => HTMLElement[], stopAt: (index: number) => void }}
 */
export function roving(container, { columns, onMove } = {}) {
  const items = () =>
    /** @type {HTMLElement[]} */ ([...container.querySelectorAll("[data-stop]")]);

  const stopAt = (/** @type {number} */ index) => {
    items().forEach((item, i) => (item.tabIndex = i === index ? 0 : -1));
  };

  container.addEventListener("keydown", (event) => {
    const all = items();
    const here = all.indexOf(/** @type {HTMLElement} */ (event.target));
    if (here < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const there = destination(event.key, here, all.length, {
      columns: columns?.(),
      isRightToLeft: getComputedStyle(container).direction === "rtl",
    });
    if (there === null) return;
    event.preventDefault();
    stopAt(there);
    all[there].focus();
    onMove?.(there);
  });
  container.addEventListener("focusin", (event) => {
    const here = items().indexOf(/** @type {HTMLElement} */ (event.target));
    if (here >= 0) stopAt(here);
  });
  return { items, stopAt };
}

/**
 * Where a key leads from a place; null if it leads nowhere.
 * @param {string} key
 * @param {number} here
 * @param {number} count
 * @param {{ columns?: number, isRightToLeft?: boolean }} [shape]
 * @returns {number | null}
 */
export function destination(key, here, count, { columns, isRightToLeft } = {}) {
  const forward = isRightToLeft ? -1 : 1;
  const row = columns ?? count;
  const steps = /** @type {Record<string, number>} */ ({
    ArrowRight: forward,
    ArrowLeft: -forward,
    ArrowDown: columns ?? 1,
    ArrowUp: -(columns ?? 1),
    Home: -(here % row),
    End: Math.min(row - 1 - (here % row), count - 1 - here),
  });
  if (!(key in steps)) return null;
  const there = here + steps[key];
  return there < 0 || there >= count ? null : there;
}
