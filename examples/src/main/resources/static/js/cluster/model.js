// What the server told, as far as it is shown: what each instance counted, sample by sample. Times are the server's, in milliseconds.
import { MARGIN, WINDOW } from '../charts.js';

const SECOND = 1_000;
const FRAME = 100;
const COUNTS = ['arrived', 'allowed', 'denied', 'alone'];
const NOTHING = { at: 0, limit: 0, redis: 'none', instances: [0, 1].map(() => ({ arrived: 0, allowed: 0, denied: 0, alone: 0 })) };

/** Before the first frame nothing ran: the picture begins with that, and not empty. */
const nothingUntil = (at, limit) =>
  Array.from({ length: WINDOW / FRAME }, (_, i) => ({
    ...NOTHING,
    at: at - WINDOW + i * FRAME,
    limit,
    isAway: false,
    rates: NOTHING.instances,
  }));

const perCount = (of) => Object.fromEntries(COUNTS.map((name) => [name, of(name)]));

export class Model {
  constructor() {
    this.frames = 0;
    /** The last seconds, by time: { at, limit, redis, isAway, instances, rates }. */
    this.samples = [];
    this.last = { ...NOTHING, isAway: false, rates: NOTHING.instances };
  }

  get now() {
    return this.last.at;
  }

  take({ atMicros, limit, redis, instances }) {
    const at = atMicros / 1000;
    if (this.frames++ === 0) this.samples = nothingUntil(at, limit);
    const before = this.secondBefore(at);
    const rates = instances.map((instance, index) =>
      perCount((name) => ((instance[name] - before.instances[index][name]) * SECOND) / (at - before.at)),
    );
    const isAway = redis === 'down' || instances.some(({ isAlone }, index) => isAlone && rates[index].arrived > 0);
    this.last = { at, limit, redis, isAway, instances, rates };
    this.samples.push(this.last);
    while (this.samples[0].at < at - WINDOW - MARGIN) this.samples.shift();
  }

  /** The sample that is nearest to a second old: frames are not quite even. The oldest if none is of that age, because frames failed to come. */
  secondBefore(at) {
    const older = Math.max(0, this.samples.findLastIndex((sample) => sample.at <= at - SECOND));
    const [far, near] = [this.samples[older], this.samples[older + 1]];
    return near && near.at - (at - SECOND) < at - SECOND - far.at ? near : far;
  }

  total(name) {
    return this.last.instances.reduce((sum, instance) => sum + instance[name], 0);
  }

  rate(name) {
    return this.last.rates.reduce((sum, rates) => sum + rates[name], 0);
  }
}
