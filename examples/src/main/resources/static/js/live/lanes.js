// A small chart for each policy, all on the same traffic: what left and what was denied, by quarters of a second.
import { repaint, SLOT, WINDOW } from '../charts.js';
import { byId, colour, element, number } from '../dom.js';

const SLOTS = WINDOW / SLOT;

export class Lanes {
  constructor(names, choose) {
    this.cards = new Map();
    const cards = names.map(([policy, name]) => {
      const card = this.card(name);
      card.button.addEventListener('click', () => choose(policy));
      this.cards.set(policy, card);
      return card.button;
    });
    byId('lanes').replaceChildren(...cards);
    this.paint();
  }

  card(name) {
    const canvas = element('canvas', { 'aria-hidden': 'true' });
    const left = element('b', {}, '0');
    const denied = element('b', {}, '0');
    const waiting = element('b', {}, '0');
    const button = element(
      'button',
      { type: 'button', class: 'lane', 'aria-pressed': 'false' },
      element('span', { class: 'name' }, name),
      element('span', { class: 'plot' }, canvas),
      element(
        'span',
        { class: 'numbers' },
        element('span', { class: 'left' }, left, ' through'),
        element('span', { class: 'denied' }, denied, ' denied'),
        element('span', {}, waiting, ' waiting'),
      ),
    );
    return { button, left, denied, waiting, chart: this.chart(canvas) };
  }

  chart(canvas) {
    const bars = (label) => ({ label, data: new Array(SLOTS).fill(0), barPercentage: 1, categoryPercentage: 0.86 });
    return new Chart(canvas, {
      type: 'bar',
      data: { labels: Array.from({ length: SLOTS }, (_, i) => i), datasets: [bars('let through'), bars('denied')] },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        events: [],
        plugins: { legend: { display: false }, tooltip: { enabled: false } },
        scales: {
          x: { stacked: true, display: false },
          y: { stacked: true, display: false, min: 0, suggestedMax: 8 },
        },
      },
    });
  }

  paint() {
    for (const { chart } of this.cards.values()) {
      chart.data.datasets[0].backgroundColor = colour('left');
      chart.data.datasets[1].backgroundColor = `${colour('denied')}b0`;
      repaint(chart);
    }
  }

  choose(policy) {
    for (const [each, card] of this.cards) card.button.setAttribute('aria-pressed', String(each === policy));
  }

  draw(model) {
    const last = Math.floor(model.now / SLOT);
    const highest = Math.max(8, ...model.lanes.flatMap((lane) => [...lane.slots.values()].map((s) => s.left + s.denied)));
    for (const lane of model.lanes) {
      const { chart, left, denied, waiting } = this.cards.get(lane.policy);
      for (let i = 0; i < SLOTS; i++) {
        const slot = lane.slots.get(last - SLOTS + i);
        chart.data.datasets[0].data[i] = slot?.left ?? 0;
        chart.data.datasets[1].data[i] = slot?.denied ?? 0;
      }
      chart.options.scales.y.max = highest;
      chart.update('none');
      left.textContent = number(lane.totals[1]);
      denied.textContent = number(lane.totals[2]);
      waiting.textContent = number(lane.level.waiting);
    }
  }
}
