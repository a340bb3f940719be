// What the server told, as far as it is shown: the last seconds of both sides. Times are the server's, in milliseconds.
import { MARGIN, WINDOW } from '../charts.js';

export const SLOT = 500;
export const WHAT = { WANTED: 0, SENT: 1, GOOD: 2, REFUSED: 3, FAILED: 4, TURNED_AWAY: 5 };
export const ENDS = [WHAT.GOOD, WHAT.REFUSED, WHAT.FAILED, WHAT.TURNED_AWAY];
const NO_SIDE = -1;
const LATELY = 5_000;
const none = () => new Array(6).fill(0);

class Side {
  constructor() {
    /** Calls without an end yet: call -> when it was wanted. */
    this.pending = new Map();
    /** Calls that came to an end: { at, what, took }, by time. */
    this.ended = [];
    /** How many of each kind, by the half second. */
    this.slots = new Map();
    /** Good answers in the second before: { at, perSecond }. */
    this.goodput = [];
    this.totals = none();
    this.forgotten = none();
  }

  take(what, call, at) {
    this.totals[what]++;
    this.slot(Math.floor(at / SLOT))[what]++;
    if (what === WHAT.SENT) return;
    this.ended.push({ at, what, took: at - this.pending.get(call) });
    this.pending.delete(call);
  }

  slot(index) {
    if (!this.slots.has(index)) this.slots.set(index, none());
    return this.slots.get(index);
  }

  beat(now) {
    const good = this.ended.filter(({ at, what }) => what === WHAT.GOOD && at > now - 1_000);
    this.goodput.push({ at: now, perSecond: good.length });
    const before = now - WINDOW - MARGIN;
    while (this.ended.length > 0 && this.ended[0].at < before) this.ended.shift();
    while (this.goodput[0].at < before) this.goodput.shift();
    for (const [index, counts] of this.slots) {
      if ((index + 1) * SLOT >= before) continue;
      counts.forEach((count, what) => (this.forgotten[what] += count));
      this.slots.delete(index);
    }
  }

  get goodPerSecond() {
    return this.goodput.at(-1)?.perSecond ?? 0;
  }

  /** How the calls of the last seconds ended, by kind, and how long the good ones took, shortest first. */
  lately(now) {
    const counts = none();
    const took = [];
    for (const end of this.ended) {
      if (end.at <= now - LATELY) continue;
      counts[end.what]++;
      if (end.what === WHAT.GOOD) took.push(end.took);
    }
    return { counts, ended: counts.reduce((sum, each) => sum + each), took: took.sort((a, b) => a - b) };
  }
}

/** The value that a share of the sorted values does not exceed; null if there are none. */
export const quantile = (sorted, share) => (sorted.length ? sorted[Math.ceil(share * sorted.length) - 1] : null);

export class Model {
  constructor() {
    this.now = 0;
    this.frames = 0;
    this.wanted = 0;
    this.waiting = 0;
    /** What the server can do and what an adaptive limiter has found: { at, capacity, badMoment, foundLimit }. */
    this.levels = [];
    this.without = new Side();
    this.with = new Side();
    this.sides = [this.without, this.with];
  }

  get level() {
    return this.levels.at(-1);
  }

  take({ atMicros, events, capacity, badMoment, foundLimit, waiting }) {
    this.now = atMicros / 1000;
    this.frames++;
    for (const [side, what, call, micros] of events) {
      if (side === NO_SIDE) this.want(call, micros / 1000);
      else this.sides[side].take(what, call, micros / 1000);
    }
    this.waiting = waiting;
    this.levels.push({ at: this.now, capacity, badMoment, foundLimit });
    while (this.levels[0].at < this.now - WINDOW - MARGIN) this.levels.shift();
    this.sides.forEach((side) => side.beat(this.now));
  }

  want(call, at) {
    this.wanted++;
    this.sides.forEach((side) => side.pending.set(call, at));
  }
}
