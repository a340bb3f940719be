// What is to be seen now, in words. A part is a text, or a text and the class of what it is about.
import { number } from '../dom.js';
import { seconds } from '../settings.js';
import { quantile, WHAT } from './model.js';

const WELL = 0.995;
const COLLAPSED = 0.05;

const percent = (share) => (share < 0.01 ? 'under 1 %' : share > 0.99 && share < 1 ? 'over 99 %' : `${Math.round(100 * share)} %`);

const round = (millis) => (millis < 1_000 ? Math.round(millis / 10) * 10 : Math.round(millis / 100) * 100);

const limiter = (settings, level) =>
  ({
    'leaky-bucket': `a leaky bucket of ${settings.rate} a second`,
    concurrency: `a limit of ${settings.inFlight} at a time`,
    adaptive: `an adaptive limit, now ${number(level?.foundLimit ?? 0)} a second`,
    'retry-after': `pauses learned from Retry-After`,
  })[settings.shape];

/** How a side fares: 'nothing' yet, 'well', with 'losses', or 'collapsed'. */
function state({ counts, ended }) {
  if (ended === 0) return 'nothing';
  const share = counts[WHAT.GOOD] / ended;
  return share >= WELL ? 'well' : share < COLLAPSED ? 'collapsed' : 'losses';
}

function losses({ counts, ended }, breaks) {
  const ways = [
    [WHAT.REFUSED, 'are refused'],
    [WHAT.FAILED, breaks === 'slows-down' ? 'are answered too late' : 'fail'],
    [WHAT.TURNED_AWAY, 'are turned away in time, never sent'],
  ];
  const parts = ways
    .filter(([what]) => counts[what] > 0)
    .sort(([a], [b]) => counts[b] - counts[a])
    .map(([what, how], i) => `${percent(counts[what] / ended)}${i === 0 ? ' of the calls' : ''} ${how}`);
  return parts.join(' and ');
}

function outcome(lately, breaks) {
  const kind = state(lately);
  if (kind === 'nothing') return [['nothing has been answered yet']];
  if (kind === 'well') {
    const half = quantile(lately.took, 0.5);
    return [['every call is answered well', 'left'], [`, half of them within ${seconds(round(half))}`]];
  }
  const lost = [losses(lately, breaks), 'denied'];
  return kind === 'collapsed' ? [['next to nothing is answered well', 'denied'], [': '], [lost[0]]] : [lost];
}

/** The parts of the sentence, and the situation in a word: the sentence is worth hearing anew when that changes. */
export function describe(model, settings) {
  const [without, within] = model.sides.map((side) => side.lately(model.now));
  const bad = model.level && model.level.capacity < settings.capacity;
  const parts = [
    ...(bad ? [['The server has a bad moment', 'denied'], [` and can do only ${model.level.capacity} a second. `]] : []),
    ['Without', 'strong'],
    [' a limiter, '],
    ...outcome(without, settings.breaks),
    ['. Behind '],
    [limiter(settings, model.level), 'strong'],
    [', '],
    ...outcome(within, settings.breaks),
    ['.'],
  ];
  return { parts, situation: [bad ? 'bad' : 'usual', state(without), state(within)].join(' ') };
}
