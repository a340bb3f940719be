// A form of sliders and choices; a slider is shown while one of the choices uses it.
import { byId, element, number } from './dom.js';

export const seconds = (millis) => (millis < 1000 ? `${millis} ms` : `${number(millis / 1000)} s`);
export const plain = (value) => String(value);

/** Of all tabs that send traffic; the server bounds them alike. */
export const TRAFFIC_SLIDERS = {
  trafficRate: { label: 'Requests per second', min: 1, max: 300, value: 15, show: plain, group: 'traffic' },
  burstSize: { label: 'Requests at once', min: 1, max: 100, value: 30, show: plain, group: 'traffic' },
  burstEveryMillis: { label: 'Every', min: 250, max: 10000, step: 250, value: 2500, show: seconds, group: 'traffic' },
};
export const TRAFFIC_USES = {
  steady: ['trafficRate'],
  poisson: ['trafficRate'],
  bursts: ['burstSize', 'burstEveryMillis'],
};

export class SettingsForm {
  /**
   * @param prefix of the ids of the form, of its groups of sliders and of the sliders
   * @param sliders by their names
   * @param chosen the choices of the form, and what is chosen first
   * @param uses which sliders a choice uses
   * @param changed told of everything that the person does
   */
  constructor({ prefix, sliders, chosen, uses, changed }) {
    this.prefix = prefix;
    this.form = byId(`${prefix}controls`);
    this.choices = Object.keys(chosen);
    this.uses = uses;
    this.sliders = new Map();
    for (const [name, spec] of Object.entries(sliders)) this.addSlider(name, spec);
    for (const [name, value] of Object.entries(chosen)) this.form.elements[name].value = value;
    this.form.addEventListener('submit', (event) => event.preventDefault());
    this.form.addEventListener('input', () => {
      this.refresh();
      changed();
    });
    this.refresh();
  }

  addSlider(name, { label, min, max, step = 1, value, show, group }) {
    const input = element('input', { type: 'range', name, id: `${this.prefix}set-${name}` });
    Object.assign(input, { min, max, step });
    input.value = value;
    const output = element('output', { for: input.id });
    const row = element('div', { class: 'slider' }, element('label', { for: input.id }, label), output, input);
    byId(`${this.prefix}${group}-sliders`).append(row);
    this.sliders.set(name, { input, output, row, show });
  }

  refresh() {
    const values = this.values();
    const used = new Set(this.choices.flatMap((choice) => this.uses[values[choice]] ?? []));
    for (const [name, { input, output, row, show }] of this.sliders) {
      row.hidden = !used.has(name);
      output.textContent = show(Number(input.value));
      input.setAttribute('aria-valuetext', output.textContent);
    }
  }

  values() {
    const values = Object.fromEntries([...this.sliders].map(([name, { input }]) => [name, Number(input.value)]));
    for (const name of this.choices) values[name] = this.form.elements[name].value;
    return values;
  }
}
