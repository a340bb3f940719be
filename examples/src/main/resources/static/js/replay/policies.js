// The list of policies to compare; each becomes a text that the server and the replay command understand.
import { element } from '../dom.js';

const KINDS = {
  'token-bucket': ['Token bucket', 'burst'],
  gcra: ['GCRA', 'burst'],
  'leaky-bucket': ['Leaky bucket', 'queue'],
  'fixed-window': ['Fixed window', null],
  'sliding-log': ['Sliding window log', null],
  'sliding-counter': ['Sliding window counter', null],
};
const PERIODS = { s: 'second', m: 'minute', h: 'hour', d: 'day' };
const MOST = 6;

export class PolicyRows {
  constructor(box, addButton) {
    this.box = box;
    this.addButton = addButton;
    this.rows = [];
    addButton.addEventListener('click', () => this.add({}).focus());
    this.add({ kind: 'token-bucket', limit: 5, option: 20 });
    this.add({ kind: 'fixed-window', limit: 120, period: 'm' });
  }

  add({ kind = 'sliding-counter', limit = 10, period = 's', option = 20 }) {
    const select = this.select(Object.entries(KINDS).map(([value, [name]]) => [value, name]), kind);
    const limitInput = this.number(limit);
    const periodSelect = this.select(Object.entries(PERIODS), period);
    const optionInput = this.number(option);
    const optionName = element('span');
    const optionField = element('label', { class: 'field' }, optionName, optionInput);
    const remove = element('button', { type: 'button', class: 'remove quiet' }, '×');
    const row = element(
      'div',
      { class: 'policy', role: 'group' },
      element('label', { class: 'field' }, element('span', {}, 'Policy'), select),
      element(
        'div',
        { class: 'numbers' },
        element('label', { class: 'field' }, element('span', {}, 'Requests'), limitInput),
        element('label', { class: 'field' }, element('span', {}, 'per'), periodSelect),
        optionField,
        remove,
      ),
    );
    const entry = { row, select, limitInput, periodSelect, optionInput };
    const refresh = () => {
      const option = KINDS[select.value][1];
      optionField.hidden = !option;
      optionName.textContent = option ?? '';
    };
    select.addEventListener('input', refresh);
    remove.addEventListener('click', () => this.remove(entry));
    refresh();
    this.rows.push(entry);
    this.box.append(row);
    this.refreshNames();
    return select;
  }

  remove(entry) {
    this.rows = this.rows.filter((each) => each !== entry);
    entry.row.remove();
    this.refreshNames();
    this.addButton.focus();
  }

  /** Names the rows, and allows no more and no fewer of them than can be compared. */
  refreshNames() {
    this.rows.forEach(({ row }, i) => {
      row.setAttribute('aria-label', `Policy ${i + 1}`);
      const remove = row.querySelector('.remove');
      remove.setAttribute('aria-label', `Remove policy ${i + 1}`);
      remove.disabled = this.rows.length === 1;
    });
    this.addButton.disabled = this.rows.length >= MOST;
  }

  texts() {
    return this.rows.map(({ select, limitInput, periodSelect, optionInput }) => {
      const option = KINDS[select.value][1];
      const suffix = option ? `:${option}=${optionInput.value}` : '';
      return `${select.value}:${limitInput.value}/${periodSelect.value}${suffix}`;
    });
  }

  number(value) {
    const input = element('input', { type: 'number', inputmode: 'numeric', required: true });
    Object.assign(input, { min: 1, max: 999_999_999, step: 1 });
    input.value = value;
    return input;
  }

  select(options, chosen) {
    const select = element('select', {}, ...options.map(([value, name]) => element('option', { value }, name)));
    select.value = chosen;
    return select;
  }
}
