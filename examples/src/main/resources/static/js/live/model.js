// What the server told, as far as it is shown: the last seconds of every lane. Times are the server's, in milliseconds.
import { MARGIN, SLOT, WINDOW } from '../charts.js';

const RATE_SECONDS = 5;
const NO_LANE = -1;
export const WHAT = { ARRIVED: 0, LEFT: 1, DENIED: 2, CANCELLED: 3 };

class Lane {
  constructor(policy) {
    this.policy = policy;
    /** Requests that came to an end: { request, arrived, at, what }, by time. */
    this.ended = [];
    /** Requests without an end yet: request -> when it arrived. */
    this.pending = new Map();
    this.levels = [];
    this.level = { remaining: 0, limit: 0, waiting: 0 };
    this.totals = [0, 0, 0, 0];
    this.forgotten = [0, 0, 0, 0];
    this.leftBySecond = new Map();
    this.slots = new Map();
  }

  end(request, what, at) {
    const arrived = this.pending.get(request);
    this.pending.delete(request);
    this.totals[what]++;
    this.ended.push({ request, arrived, at, what });
    const slot = this.slot(at);
    if (what === WHAT.LEFT) {
      slot.left++;
      const second = Math.floor(at / 1000);
      this.leftBySecond.set(second, (this.leftBySecond.get(second) ?? 0) + 1);
    } else if (what === WHAT.DENIED) {
      slot.denied++;
    }
  }

  slot(at) {
    const index = Math.floor(at / SLOT);
    if (!this.slots.has(index)) this.slots.set(index, { left: 0, denied: 0 });
    return this.slots.get(index);
  }

  /** Departures per second, over the last seconds that are over; null before the first one is. */
  rate(now) {
    const over = Math.floor(now / 1000);
    const seconds = Math.min(RATE_SECONDS, over);
    if (seconds === 0) return null;
    let left = 0;
    for (let second = over - seconds; second < over; second++) left += this.leftBySecond.get(second) ?? 0;
    return left / seconds;
  }

  forget(now) {
    const before = now - WINDOW - MARGIN;
    while (this.ended.length > 0 && this.ended[0].at < before) this.forgotten[this.ended.shift().what]++;
    while (this.levels.length > 0 && this.levels[0].at < before) this.levels.shift();
    for (const index of this.slots.keys()) if ((index + 1) * SLOT < before) this.slots.delete(index);
    for (const second of this.leftBySecond.keys()) if ((second + 1) * 1000 < before) this.leftBySecond.delete(second);
  }
}

export class Model {
  constructor(policies) {
    this.now = 0;
    this.frames = 0;
    this.arrivals = [];
    this.arrived = 0;
    this.lanes = policies.map((policy) => new Lane(policy));
  }

  lane(policy) {
    return this.lanes.find((lane) => lane.policy === policy);
  }

  take(frame) {
    this.now = frame.atMicros / 1000;
    this.frames++;
    for (const [lane, what, request, micros] of frame.events) {
      if (lane === NO_LANE) this.arrive(request, micros / 1000);
      else this.lanes[lane].end(request, what, micros / 1000);
    }
    frame.lanes.forEach((level, index) => {
      this.lanes[index].level = level;
      this.lanes[index].levels.push({ at: this.now, ...level });
    });
    while (this.arrivals.length > 0 && this.arrivals[0].at < this.now - WINDOW - MARGIN) this.arrivals.shift();
    this.lanes.forEach((lane) => lane.forget(this.now));
  }

  arrive(request, at) {
    this.arrived++;
    this.arrivals.push({ request, at });
    this.lanes.forEach((lane) => lane.pending.set(request, at));
  }
}
