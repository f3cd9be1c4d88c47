// @ts-check
/**
 * A search as it was told, step by step: the tree of beginnings, and the way of the best.
 *
 * @typedef {{ piece: string, probability: number }} Rival
 * @typedef {{ id: number, parent: number, piece: string, probability: number, log_prob: number, rivals: Rival[] }} Node
 * @typedef {{ sentence: number, nodes: Node[], is_end: boolean }} StepEvent
 * @typedef {{ sentence: number, endings: { text: string, score: number, node: number }[] }} SentenceEvent
 */

export class Decoding {
  constructor() {
    /** @type {Map<number, Node>} */
    this.nodes = new Map();
    /** @type {number[]} the nodes in which sentences ended, best first */
    this.ends = [];
  }

  /** @param {StepEvent} event */
  add(event) {
    for (const node of event.nodes) this.nodes.set(node.id, node);
  }

  /** @param {SentenceEvent} event */
  end(event) {
    this.ends = event.endings.map((ending) => ending.node);
  }

  /**
   * From the first piece to a node.
   * @param {number} id
   * @returns {Node[]}
   */
  path(id) {
    const path = [];
    for (let node = this.nodes.get(id); node; node = this.nodes.get(node.parent)) path.unshift(node);
    return path;
  }

  /** @returns {Node[]} the way of the best sentence */
  best() {
    return this.ends.length ? this.path(this.ends[0]) : [];
  }

  /** @returns {Set<number>} every node that some ending came through */
  lived() {
    return new Set(this.ends.flatMap((end) => this.path(end).map((node) => node.id)));
  }

  /**
   * A place for each node: its step, and a lane. The best sentence runs along the top; what
   * branches off goes into the first lane below that is free for as long as it lives.
   * @returns {{ node: Node, step: number, lane: number }[]}
   */
  places() {
    /** @type {Map<number, Node[]>} */
    const children = new Map();
    for (const node of this.nodes.values()) {
      const siblings = children.get(node.parent) ?? [];
      siblings.push(node);
      children.set(node.parent, siblings);
    }
    /** @type {Map<number, number>} the best ending that came through each node */
    const rank = new Map();
    this.ends.forEach((end, i) => {
      for (const { id } of this.path(end)) rank.set(id, Math.min(i, rank.get(id) ?? i));
    });
    const worth = (/** @type {Node} */ node) => rank.get(node.id) ?? this.ends.length - node.log_prob;
    const below = (/** @type {number} */ id) => [...(children.get(id) ?? [])].sort((a, b) => worth(a) - worth(b));

    /** @type {{ node: Node, step: number, lane: number }[]} */
    const places = [];
    /** @type {number[]} the step up to which each lane is taken */
    const taken = [];
    const branches = below(0).map((node) => ({ node, step: 0 }));
    while (branches.length) {
      branches.sort((a, b) => a.step - b.step || worth(a.node) - worth(b.node));
      const [branch] = branches.splice(0, 1);
      let { step } = branch;
      let lane = taken.findIndex((last) => last < step);
      if (lane < 0) lane = taken.length;
      /** @type {Node | undefined} */
      let node = branch.node;
      for (; node; step++) {
        places.push({ node, step, lane });
        const [heir, ...others] = below(node.id);
        branches.push(...others.map((other) => ({ node: other, step: step + 1 })));
        node = heir;
      }
      taken[lane] = step;
    }
    return places;
  }
}
