// The settings, and the sentence that says them.
import { element } from '../dom.js';
import { plain, seconds, SettingsForm, TRAFFIC_SLIDERS, TRAFFIC_USES } from '../settings.js';

const SLIDERS = {
  rate: { label: 'Permits per second', min: 1, max: 200, value: 10, show: plain, group: 'limit' },
  burst: { label: 'At once (burst)', min: 1, max: 200, value: 10, show: plain, group: 'limit' },
  queue: { label: 'Places in the queue', min: 1, max: 500, value: 40, show: plain, group: 'limit' },
  windowSeconds: { label: 'Window', min: 1, max: 10, value: 2, show: (v) => `${v} s`, group: 'limit' },
  inFlight: { label: 'At the same time', min: 1, max: 100, value: 5, show: plain, group: 'limit' },
  workMillis: { label: 'Each takes', min: 10, max: 5000, step: 10, value: 500, show: seconds, group: 'limit' },
  maxWaitMillis: { label: 'Waits at most', min: 0, max: 10000, step: 100, value: 1500, show: seconds, group: 'wait' },
  ...TRAFFIC_SLIDERS,
};
const WINDOWS = ['rate', 'windowSeconds'];
const USES = {
  'token-bucket': ['rate', 'burst'],
  gcra: ['rate', 'burst'],
  'leaky-bucket': ['rate', 'queue'],
  'fixed-window': WINDOWS,
  'sliding-log': WINDOWS,
  'sliding-counter': WINDOWS,
  concurrency: ['inFlight', 'workMillis'],
  delay: ['maxWaitMillis'],
  ...TRAFFIC_USES,
};
const CHOSEN = { policy: 'token-bucket', mode: 'delay', traffic: 'bursts' };

export class Controls extends SettingsForm {
  constructor(changed) {
    super({ prefix: '', sliders: SLIDERS, chosen: CHOSEN, uses: USES, changed });
  }

  choose(policy) {
    this.form.elements.policy.value = policy;
    this.refresh();
  }

  policies() {
    return [...this.form.elements.policy.options].map((option) => [option.value, option.text]);
  }

  sentence() {
    const s = this.values();
    const bold = (text, kind) => element('b', kind ? { class: kind } : {}, text);
    const traffic = {
      steady: `${s.trafficRate} requests a second`,
      poisson: `About ${s.trafficRate} requests a second, at random`,
      bursts: `Bursts of ${s.burstSize} every ${seconds(s.burstEveryMillis)}`,
      flood: 'A flood of 300 requests a second',
      clicks: 'Your clicks',
    }[s.traffic];
    const window = `${s.rate * s.windowSeconds} per ${seconds(s.windowSeconds * 1000)}`;
    const limit = {
      'token-bucket': ['a token bucket', ` of ${s.rate} a second, ${s.burst} at once`],
      gcra: ['GCRA', ` of ${s.rate} a second, ${s.burst} at once`],
      'leaky-bucket': ['a leaky bucket', ` that lets ${s.rate} a second out, ${s.queue} may queue`],
      'fixed-window': ['a fixed window', ` of ${window}`],
      'sliding-log': ['a sliding window log', ` of ${window}`],
      'sliding-counter': ['a sliding window counter', ` of ${window}`],
      concurrency: ['a concurrency limit', ` of ${s.inFlight} at a time, ${seconds(s.workMillis)} each`],
    }[s.policy];
    const rest =
      s.mode === 'reject'
        ? ['Who finds no permit is ', bold('turned away', 'denied'), '.']
        : ['Who finds no permit ', bold('waits', 'waiting'), `, up to ${seconds(s.maxWaitMillis)}.`];
    return [bold(traffic), s.traffic === 'flood' ? ' meets ' : ' meet ', bold(limit[0], 'left'), `${limit[1]}. `, ...rest];
  }
}
