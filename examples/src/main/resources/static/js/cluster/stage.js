// The two charts: what each instance let through, and both together against the limit; and what they turned away.
import { fromEdge, line, paint, paintAxes, secondsAxis, shared, valueAxis } from '../charts.js';
import { byId, colour } from '../dom.js';

const A = 'policy-6';
const B = 'policy-4';
const DASHED = [6, 4];
const DOTTED = [2, 3];

/** Where Redis did not answer the ground is tinted, whatever the values are. */
const away = () => ({ ...line('Redis is away', 0), yAxisID: 'away', stepped: true, fill: 'origin' });

function chart(id, labelled, title, sets) {
  return new Chart(byId(id), {
    type: 'scatter',
    data: { datasets: sets },
    options: {
      ...shared(),
      scales: {
        x: secondsAxis(labelled),
        y: valueAxis({ min: 0, suggestedMax: 10, title: { display: true, text: title }, ticks: { precision: 0, maxTicksLimit: 5 } }),
        away: { display: false, min: 0, max: 1, ticks: {} },
      },
    },
  });
}

const lineOf = (label, width, borderDash) => ({ ...line(label, width), borderDash });

export class Stage {
  constructor() {
    this.through = chart('cluster-through', false, 'let through per second', [
      { ...lineOf('limit', 1.6, DOTTED), stepped: 'before' },
      lineOf('A and B together', 2.8, []),
      lineOf('A', 1.6, []),
      lineOf('B', 1.6, DASHED),
      away(),
    ]);
    this.denied = chart('cluster-denied', true, 'denied', [lineOf('A', 1.6, []), lineOf('B', 1.6, DASHED), away()]);
    this.paint();
  }

  /** Takes the colours of the theme. */
  paint() {
    const [limit, both, a, b, away] = this.through.data.datasets;
    const [deniedA, deniedB, awayToo] = this.denied.data.datasets;
    paint(limit, colour('ink'));
    paint(both, colour('left'));
    for (const set of [a, deniedA]) paint(set, colour(A));
    for (const set of [b, deniedB]) paint(set, colour(B));
    for (const set of [away, awayToo]) paint(set, 'transparent', `${colour('denied')}2e`);
    for (const chart of [this.through, this.denied]) {
      chart.options.scales.y.title.color = colour('soft');
      paintAxes(chart);
    }
  }

  draw(model, now) {
    const points = (of) => model.samples.map((sample) => ({ x: (sample.at - now) / 1000, y: of(sample) }));
    const rate = (index, name) => points(({ rates }) => rates[index][name]);
    const isAway = fromEdge(points((sample) => (sample.isAway ? 1 : 0)));
    this.fill(this.through, [
      points(({ limit }) => limit),
      points(({ rates }) => rates[0].allowed + rates[1].allowed),
      rate(0, 'allowed'),
      rate(1, 'allowed'),
      isAway,
    ]);
    this.fill(this.denied, [rate(0, 'denied'), rate(1, 'denied'), isAway]);
  }

  fill(chart, data) {
    data.forEach((points, set) => (chart.data.datasets[set].data = points));
    chart.update('none');
  }
}
