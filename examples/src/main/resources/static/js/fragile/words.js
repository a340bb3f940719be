// What is to be seen now, in words. A part is a text, or a text and the class of what it is about.
import { number } from '../dom.js';
import { seconds } from '../settings.js';
import { quantile, WHAT } from './model.js';

const WELL = 0.995;
const COLLAPSED = 0.05;

const percent = (share) => (share < 0.01 ? 'under 1 %' : share > 0.99 ? 'over 99 %' : `${Math.round(100 * share)} %`);
const share = (count, of) => (count === of ? 'all calls' : `${percent(count / of)} of the calls`);
const round = (millis) => (millis < 1_000 ? Math.round(millis / 10) * 10 : Math.round(millis / 100) * 100);

const limiter = ({ shape, rate, inFlight }, level) =>
  ({
    'leaky-bucket': `a leaky bucket of ${rate} a second`,
    concurrency: `a limit of ${inFlight} at a time`,
    adaptive: `an adaptive limit, now ${number(level?.foundLimit ?? 0)} a second`,
    'retry-after': `${rate} a second and pauses learned from Retry-After`,
  })[shape];

/** What is tried again may be turned away after it was sent. */
const isSentOnce = ({ retries }) => retries === 'never';
const turnedAway = (settings) => (isSentOnce(settings) ? 'are turned away, not sent' : 'are turned away');

/** How a side fares: 'nothing' yet, 'well', 'shed' if it is well with what was sent, with 'losses', or 'collapsed'. */
function state({ counts, ended }, settings) {
  if (ended === 0) return 'nothing';
  const sent = ended - (isSentOnce(settings) ? counts[WHAT.TURNED_AWAY] : 0);
  const good = counts[WHAT.GOOD];
  if (good > 0 && good / ended >= WELL) return 'well';
  if (sent === 0 || good / sent >= WELL) return 'shed';
  return good / sent < COLLAPSED ? 'collapsed' : 'losses';
}

/** The ways in which calls were lost, the most frequent first. */
function losses({ counts, ended }, settings) {
  return [
    [WHAT.REFUSED, 'are refused'],
    [WHAT.FAILED, settings.breaks === 'slows-down' ? 'fail or come too late' : 'fail'],
    [WHAT.TURNED_AWAY, turnedAway(settings)],
  ]
    .filter(([what]) => counts[what] > 0)
    .sort(([a], [b]) => counts[b] - counts[a])
    .map(([what, how], i) => `${i === 0 ? share(counts[what], ended) : percent(counts[what] / ended)} ${how}`)
    .join(' and ');
}

function outcome(lately, settings) {
  const { counts, ended, took } = lately;
  const within = took.length ? `, half of them within ${seconds(round(quantile(took, 0.5)))}` : '';
  const nothing = counts[WHAT.GOOD] === 0 ? 'nothing' : 'next to nothing';
  switch (state(lately, settings)) {
    case 'nothing':
      return [['nothing has been answered yet']];
    case 'well':
      return [['every call is answered well', 'left'], [within]];
    case 'shed':
      return took.length
        ? [['every call that is sent is answered well', 'left'], [`${within}; `], [`${share(counts[WHAT.TURNED_AWAY], ended)} are turned away, not sent`, 'waiting']]
        : [['all calls are turned away, not sent', 'waiting']];
    case 'collapsed':
      return [[`${nothing} is answered well`, 'denied'], [`: ${losses(lately, settings)}`]];
    default:
      return [[losses(lately, settings), 'denied']];
  }
}

/** The parts of the sentence, and the situation in a word: the sentence is worth hearing anew when that changes. */
export function describe(model, settings) {
  const [without, within] = model.sides.map((side) => side.lately(model.now));
  const bad = Boolean(model.level?.badMoment);
  const parts = [
    ...(bad ? [['The server has a bad moment', 'denied'], [` and can do only ${model.level.capacity} a second. `]] : []),
    ['Without', 'strong'],
    [' a limiter, '],
    ...outcome(without, settings),
    ['. Behind '],
    [limiter(settings, model.level), 'strong'],
    [', '],
    ...outcome(within, settings),
    ['.'],
  ];
  return { parts, situation: [bad ? 'bad' : 'usual', state(without, settings), state(within, settings)].join(' ') };
}
