// The settings of the cluster.
import { plain, SettingsForm } from '../settings.js';

const SLIDERS = {
  sharedRate: { label: 'Permits per second', min: 1, max: 100, value: 20, show: plain, group: 'limit' },
  sharedBurst: { label: 'At once (burst)', min: 2, max: 100, value: 6, show: plain, group: 'limit' },
  firstRate: { label: 'Requests per second at A', min: 0, max: 100, value: 24, show: plain, group: 'traffic' },
  secondRate: { label: 'Requests per second at B', min: 0, max: 100, value: 12, show: plain, group: 'traffic' },
};
const CHOSEN = { failure: 'local', asking: 'each', pattern: 'steady' };
const ALWAYS = Object.keys(SLIDERS);

export class Controls extends SettingsForm {
  constructor(changed) {
    super({ prefix: 'cluster-', sliders: SLIDERS, chosen: CHOSEN, uses: { steady: ALWAYS, bursts: ALWAYS }, changed });
  }
}
