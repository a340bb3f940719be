// The two large charts: what became of each request, and how the limiter stands.
import { fromEdge, line, paint, paintAxes, secondsAxis, shared, valueAxis } from '../charts.js';
import { byId, colour } from '../dom.js';
import { WHAT } from './model.js';

const GOLDEN = 0.618034;
const BREAK = { x: null, y: null };
const SETS = { WAITING: 0, WAYS: 1, BOUNCES: 2, ARRIVED: 3, LEFT: 4, DENIED: 5, CANCELLED: 6 };

/** Requests that come at once lie beside each other, not on top. */
const spread = (request, from, height) => from + ((request * GOLDEN) % 1) * height;
const heightOf = {
  arrived: (request) => spread(request, 0.86, 0.14),
  [WHAT.LEFT]: (request) => spread(request, 0, 0.14),
  [WHAT.DENIED]: (request) => spread(request, 0.52, 0.2),
  [WHAT.CANCELLED]: (request) => spread(request, 0.26, 0.16),
};

/** Many lines in one set. They are not in the order of time, which Chart.js finds out only if it parses them: it would leave some out. */
function lines(label, width) {
  return { ...line(label, width), parsing: true, normalized: false };
}

function marks(label, pointStyle, radius) {
  return { label, data: [], showLine: false, pointStyle, radius, borderWidth: 1.5 };
}

export class Stage {
  constructor() {
    this.requests = new Chart(byId('requests'), {
      type: 'scatter',
      data: {
        datasets: [
          lines('waiting', 1.2),
          lines('ways', 1),
          lines('bounces', 1),
          marks('arrived', 'circle', 2.4),
          marks('let through', 'circle', 2.8),
          marks('denied', 'crossRot', 3.4),
          marks('cancelled', 'triangle', 3.4),
        ],
      },
      options: {
        ...shared(),
        scales: {
          x: secondsAxis(false),
          y: valueAxis({
            min: -0.04,
            max: 1.04,
            afterBuildTicks: (axis) => (axis.ticks = [{ value: 0.07 }, { value: 0.93 }]),
            ticks: { callback: (value) => (value > 0.5 ? 'in' : 'out') },
          }),
        },
      },
    });
    this.levels = new Chart(byId('levels'), {
      type: 'scatter',
      data: { datasets: [{ ...line('permits left', 1.6), stepped: true, fill: 'origin' }, line('waiting', 1.8)] },
      options: {
        ...shared(),
        plugins: {
          tooltip: { enabled: false },
          legend: { display: true, align: 'start', labels: { boxWidth: 14, boxHeight: 2, padding: 6 } },
        },
        scales: {
          x: secondsAxis(true),
          y: valueAxis({ min: 0, suggestedMax: 10, ticks: { precision: 0, maxTicksLimit: 4 } }),
        },
      },
    });
    this.paint();
  }

  /** Takes the colours of the theme. */
  paint() {
    const sets = this.requests.data.datasets;
    paint(sets[SETS.WAITING], colour('waiting'));
    paint(sets[SETS.WAYS], colour('left-soft'));
    paint(sets[SETS.BOUNCES], `${colour('denied')}44`);
    paint(sets[SETS.ARRIVED], colour('arrived'), 'transparent');
    paint(sets[SETS.LEFT], colour('left'), colour('left'));
    paint(sets[SETS.DENIED], colour('denied'), colour('denied'));
    paint(sets[SETS.CANCELLED], colour('cancelled'), colour('cancelled'));
    paint(this.levels.data.datasets[0], colour('left'), colour('left-soft'));
    paint(this.levels.data.datasets[1], colour('waiting'));
    paintAxes(this.requests);
    paintAxes(this.levels);
  }

  draw(model, lane, now) {
    const x = (at) => (at - now) / 1000;
    const data = Array.from({ length: 7 }, () => []);
    for (const { request, at } of model.arrivals) {
      data[SETS.ARRIVED].push({ x: x(at), y: heightOf.arrived(request) });
    }
    for (const [request, at] of lane.pending) {
      const y = heightOf.arrived(request);
      data[SETS.WAITING].push({ x: x(at), y }, { x: 0, y }, BREAK);
    }
    for (const end of lane.ended) {
      const to = { x: x(end.at), y: heightOf[end.what](end.request) };
      const ways = end.what === WHAT.LEFT ? SETS.WAYS : SETS.BOUNCES;
      data[ways].push({ x: x(end.arrived), y: heightOf.arrived(end.request) }, to, BREAK);
      data[SETS.ARRIVED + end.what].push(to);
    }
    data.forEach((points, set) => (this.requests.data.datasets[set].data = points));
    this.requests.update('none');
    this.levels.data.datasets[0].data = fromEdge(lane.levels.map((level) => ({ x: x(level.at), y: level.remaining })));
    this.levels.data.datasets[1].data = lane.levels.map((level) => ({ x: x(level.at), y: level.waiting }));
    this.levels.update('none');
  }

  /** How many marks of each kind are in the chart. */
  marks() {
    const sets = this.requests.data.datasets;
    return [SETS.ARRIVED, SETS.LEFT, SETS.DENIED, SETS.CANCELLED].map((set) => sets[set].data.length);
  }
}
