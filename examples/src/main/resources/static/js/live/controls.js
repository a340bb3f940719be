// The settings, and the sentence that says them.
import { byId, element, number } from '../dom.js';

const seconds = (millis) => (millis < 1000 ? `${millis} ms` : `${number(millis / 1000)} s`);
const plain = (value) => String(value);

const SLIDERS = {
  rate: { label: 'Permits per second', min: 1, max: 200, value: 10, show: plain, group: 'limit' },
  burst: { label: 'At once (burst)', min: 1, max: 200, value: 10, show: plain, group: 'limit' },
  queue: { label: 'Places in the queue', min: 1, max: 500, value: 40, show: plain, group: 'limit' },
  windowSeconds: { label: 'Window', min: 1, max: 10, value: 2, show: (v) => `${v} s`, group: 'limit' },
  inFlight: { label: 'At the same time', min: 1, max: 100, value: 5, show: plain, group: 'limit' },
  workMillis: { label: 'Each takes', min: 10, max: 5000, step: 10, value: 500, show: seconds, group: 'limit' },
  maxWaitMillis: { label: 'Waits at most', min: 0, max: 10000, step: 100, value: 1500, show: seconds, group: 'wait' },
  trafficRate: { label: 'Requests per second', min: 1, max: 300, value: 15, show: plain, group: 'traffic' },
  burstSize: { label: 'Requests at once', min: 1, max: 100, value: 30, show: plain, group: 'traffic' },
  burstEveryMillis: { label: 'Every', min: 250, max: 10000, step: 250, value: 2500, show: seconds, group: 'traffic' },
};
const WINDOWS = ['rate', 'windowSeconds'];
const USED = {
  'token-bucket': ['rate', 'burst'],
  gcra: ['rate', 'burst'],
  'leaky-bucket': ['rate', 'queue'],
  'fixed-window': WINDOWS,
  'sliding-log': WINDOWS,
  'sliding-counter': WINDOWS,
  concurrency: ['inFlight', 'workMillis'],
  delay: ['maxWaitMillis'],
  steady: ['trafficRate'],
  poisson: ['trafficRate'],
  bursts: ['burstSize', 'burstEveryMillis'],
};
const CHOSEN = { policy: 'token-bucket', mode: 'delay', traffic: 'bursts' };

export class Controls {
  constructor(changed) {
    this.form = byId('controls');
    this.sliders = new Map();
    for (const [name, spec] of Object.entries(SLIDERS)) this.addSlider(name, spec);
    for (const [name, value] of Object.entries(CHOSEN)) this.form.elements[name].value = value;
    this.form.addEventListener('submit', (event) => event.preventDefault());
    this.form.addEventListener('input', () => {
      this.refresh();
      changed();
    });
    this.refresh();
  }

  addSlider(name, { label, min, max, step = 1, value, show, group }) {
    const input = element('input', { type: 'range', name, id: `set-${name}` });
    Object.assign(input, { min, max, step });
    input.value = value;
    const output = element('output', { for: input.id });
    const row = element('div', { class: 'slider' }, element('label', { for: input.id }, label), output, input);
    byId(`${group}-sliders`).append(row);
    this.sliders.set(name, { input, output, row, show });
  }

  refresh() {
    const { policy, mode, traffic } = this.values();
    const used = new Set([policy, mode, traffic].flatMap((choice) => USED[choice] ?? []));
    for (const [name, { input, output, row, show }] of this.sliders) {
      row.hidden = !used.has(name);
      output.textContent = show(Number(input.value));
      input.setAttribute('aria-valuetext', output.textContent);
    }
    byId('sentence').replaceChildren(...this.sentence());
  }

  choose(policy) {
    this.form.elements.policy.value = policy;
    this.refresh();
  }

  values() {
    const values = Object.fromEntries([...this.sliders].map(([name, { input }]) => [name, Number(input.value)]));
    for (const name of Object.keys(CHOSEN)) values[name] = this.form.elements[name].value;
    return values;
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
