// The charts: what became of the calls on each side, by the half second, and the good answers of both on one axis.
import { line, paint, paintAxes, secondsAxis, shared, valueAxis } from '../charts.js';
import { byId, colour } from '../dom.js';
import { ENDS, SLOT, WHAT } from './model.js';

const PER_SECOND = 1000 / SLOT;
const SETS = { SENT: ENDS.length, CAPACITY: ENDS.length + 1 };
const LINES = { CAPACITY: 0, LIMIT: 1, WITHOUT: 2, WITH: 3 };

const bars = (label) => ({ label, data: [], stack: 'ends', barPercentage: 1, categoryPercentage: 0.86, order: 2 });
const over = (label, width, style) => ({ ...line(label, width), type: 'line', stack: label, order: 1, ...style });

/** The last half second is not over: a line to what came of it so far would only seem to fall. */
const unlessUnfinished = { borderColor: ({ chart, p1DataIndex, datasetIndex }) => (p1DataIndex === chart.data.datasets[datasetIndex].data.length - 1 ? 'transparent' : undefined) };

function sideChart(id) {
  return new Chart(byId(id), {
    type: 'bar',
    data: {
      datasets: [
        bars('answered well'),
        bars('refused'),
        bars('failed'),
        bars('turned away'),
        over('reached the server', 1.6, { stepped: 'middle', segment: unlessUnfinished }),
        over('can be done', 1.4, { stepped: 'before', borderDash: [6, 4] }),
      ],
    },
    options: {
      ...shared(),
      scales: {
        x: { ...secondsAxis(true), stacked: true, offset: false },
        y: valueAxis({ min: 0, stacked: true, ticks: { precision: 0, maxTicksLimit: 5 } }),
      },
    },
  });
}

/** Diagonal stripes, so that kinds differ not by colour alone. */
function striped(stroke, rising) {
  const size = 6;
  const tile = new OffscreenCanvas(size, size);
  const pen = tile.getContext('2d');
  pen.strokeStyle = stroke;
  pen.lineWidth = 2.2;
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift - 1, rising ? size + 1 : -1);
    pen.lineTo(shift + size + 1, rising ? -1 : size + 1);
  }
  pen.stroke();
  return pen.createPattern(tile, 'repeat');
}

/** The next round number, so that the axis does not move with every call. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value) * power;
}

export class Sides {
  constructor() {
    this.charts = [sideChart('fragile-without'), sideChart('fragile-with')];
    this.goodput = new Chart(byId('fragile-goodput'), {
      type: 'scatter',
      data: {
        datasets: [
          { ...line('can be done', 1.4), stepped: 'before', borderDash: [6, 4] },
          { ...line('limit found', 2), stepped: 'before', borderDash: [2, 3] },
          { ...line('without', 2), borderDash: [9, 3] },
          line('with', 2.6),
        ],
      },
      options: {
        ...shared(),
        scales: { x: secondsAxis(true), y: valueAxis({ min: 0, ticks: { precision: 0, maxTicksLimit: 5 } }) },
      },
    });
    this.paint();
  }

  /** Takes the colours of the theme. */
  paint() {
    const denied = colour('denied');
    const fills = [colour('left'), striped(denied, true), denied, striped(colour('waiting'), false)];
    for (const { data } of this.charts) {
      fills.forEach((fill, i) => paint(data.datasets[i], fill, fill));
      paint(data.datasets[SETS.SENT], colour('arrived'));
      paint(data.datasets[SETS.CAPACITY], colour('soft'));
    }
    const lines = this.goodput.data.datasets;
    paint(lines[LINES.CAPACITY], colour('soft'));
    paint(lines[LINES.LIMIT], colour('cancelled'));
    paint(lines[LINES.WITHOUT], denied);
    paint(lines[LINES.WITH], colour('left'));
    [...this.charts, this.goodput].forEach(paintAxes);
  }

  draw(model, now) {
    const x = (at) => (at - now) / 1000;
    const capacity = model.levels.map((level) => ({ x: x(level.at), y: level.capacity }));
    const highest = Math.max(...model.levels.map((level) => level.capacity), ...model.sides.map(tallest));
    this.charts.forEach((chart, i) => {
      const sets = chart.data.datasets;
      const slots = everySlot(model.sides[i], model.now);
      const points = (what) => slots.map(([index, counts]) => ({ x: x((index + 0.5) * SLOT), y: counts[what] * PER_SECOND }));
      ENDS.forEach((what, set) => (sets[set].data = points(what)));
      sets[SETS.SENT].data = points(WHAT.SENT);
      sets[SETS.CAPACITY].data = capacity;
      chart.options.scales.y.max = roundUp(highest * 1.02);
      chart.update('none');
    });
    this.drawGoodput(model, x, capacity);
  }

  drawGoodput(model, x, capacity) {
    const sets = this.goodput.data.datasets;
    const good = (side) => side.goodput.map(({ at, perSecond }) => ({ x: x(at), y: perSecond }));
    sets[LINES.CAPACITY].data = capacity;
    sets[LINES.LIMIT].data = model.levels.map((level) => ({ x: x(level.at), y: level.foundLimit ?? NaN }));
    sets[LINES.WITHOUT].data = good(model.without);
    sets[LINES.WITH].data = good(model.with);
    const highest = Math.max(...sets.flatMap(({ data }) => data.map(({ y }) => y || 0)), 1);
    this.goodput.options.scales.y.max = roundUp(highest * 1.05);
    this.goodput.update('none');
  }

  /** How many calls of each kind of end are in the chart of a side, then how many reached its server. */
  drawn(side) {
    const sets = this.charts[side].data.datasets.slice(0, SETS.CAPACITY);
    return sets.map(({ data }) => data.reduce((sum, { y }) => sum + y / PER_SECOND, 0));
  }
}

const NOTHING = new Array(6).fill(0);

/** Also those in which nothing happened. */
function everySlot(side, now) {
  const first = Math.min(...side.slots.keys(), Math.floor(now / SLOT));
  const last = Math.floor(now / SLOT);
  return Array.from({ length: last - first + 1 }, (_, i) => [first + i, side.slots.get(first + i) ?? NOTHING]);
}

function tallest(side) {
  const heights = [...side.slots.values()].map((counts) =>
    Math.max(counts[WHAT.SENT], ENDS.reduce((sum, what) => sum + counts[what], 0)),
  );
  return Math.max(0, ...heights) * PER_SECOND;
}
