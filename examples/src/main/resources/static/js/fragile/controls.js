// The settings of the second tab.
import { plain, seconds, SettingsForm, TRAFFIC_SLIDERS, TRAFFIC_USES } from '../settings.js';

const { trafficRate, burstSize, burstEveryMillis } = TRAFFIC_SLIDERS;
const SLIDERS = {
  capacity: { label: 'It can do, per second', min: 2, max: 200, value: 40, show: plain, group: 'server' },
  rate: { label: 'Calls per second', min: 1, max: 200, value: 40, show: plain, group: 'shape' },
  inFlight: { label: 'Calls at the same time', min: 1, max: 100, value: 4, show: plain, group: 'shape' },
  maxWaitMillis: { label: 'A call waits at most', min: 0, max: 10000, step: 100, value: 3000, show: seconds, group: 'shape' },
  trafficRate: { ...trafficRate, label: 'Calls per second', value: 60 },
  burstSize: { ...burstSize, label: 'Calls at once', value: 60 },
  burstEveryMillis: { ...burstEveryMillis, value: 2000 },
};
const USES = {
  refuses: ['capacity'],
  'slows-down': ['capacity'],
  fails: ['capacity'],
  'leaky-bucket': ['rate', 'maxWaitMillis'],
  'retry-after': ['rate', 'maxWaitMillis'],
  concurrency: ['inFlight', 'maxWaitMillis'],
  adaptive: ['maxWaitMillis'],
  ...TRAFFIC_USES,
};
const CHOSEN = { breaks: 'refuses', retries: 'never', shape: 'leaky-bucket', traffic: 'bursts' };

export class Controls extends SettingsForm {
  constructor(changed) {
    super({ prefix: 'fragile-', sliders: SLIDERS, chosen: CHOSEN, uses: USES, changed });
  }
}
