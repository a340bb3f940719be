// What the charts that move with time have in common. Time stands still on the axis, which ends now; the marks move.
import { colour } from './dom.js';

/** What is shown of the past, and the pieces it is counted in, in milliseconds. */
export const WINDOW = 12_000;
export const SLOT = 250;
/** So much more is kept, so that nothing vanishes before the edge. */
export const MARGIN = 1_000;

const EDGE = 18;
const MANY_MARKS = 1_200;
const stillness = matchMedia('(prefers-reduced-motion: reduce)');

/** Milliseconds from one drawing to the next, of so many marks. */
export const pace = (marks) => (stillness.matches ? 1_000 : marks > MANY_MARKS ? 120 : 33);

export function line(label, width) {
  return { label, data: [], showLine: true, pointRadius: 0, borderWidth: width, spanGaps: false };
}

export const shared = () => ({
  animation: false,
  parsing: false,
  normalized: true,
  responsive: true,
  maintainAspectRatio: false,
  events: [],
  plugins: { legend: { display: false }, tooltip: { enabled: false } },
});

export const secondsAxis = (labels) => ({
  type: 'linear',
  min: -WINDOW / 1000,
  max: 0,
  // The same for all charts, with labels or without: a moment is at the same place in each.
  afterFit: (axis) => Object.assign(axis, { paddingLeft: EDGE, paddingRight: EDGE }),
  ticks: { stepSize: 2, display: labels, maxRotation: 0, callback: (value) => (value === 0 ? 'now' : `${value} s`) },
});

/**
 * What of a filled line is within the window, beginning at the edge. Chart.js does not move points before the edge any more, and would fill the
 * area between them and the line.
 */
export function fromEdge(points) {
  const x = -WINDOW / 1000;
  const last = points.findLastIndex((point) => point.x <= x);
  return last < 0 ? points : [{ x, y: points[last].y }, ...points.slice(last + 1)];
}

/** As wide in all charts. */
export const valueAxis = (options) => ({ afterFit: (axis) => (axis.width = 56), ...options });

/**
 * Draws a chart whose colours changed. Not in the mode 'none', in which Chart.js keeps the colours that bars and marks had at first: before
 * their first painting those are its own.
 */
export const repaint = (chart) => chart.update();

export const paint = (set, stroke, fill) => Object.assign(set, { borderColor: stroke, backgroundColor: fill });

/** Takes the colours of the theme for all that is not a mark. */
export function paintAxes(chart) {
  for (const axis of Object.values(chart.options.scales)) {
    axis.grid = { color: colour('rule'), offset: false };
    axis.border = { display: false };
    axis.ticks.color = colour('soft');
  }
  chart.options.plugins.legend.labels.color = colour('soft');
  repaint(chart);
}
