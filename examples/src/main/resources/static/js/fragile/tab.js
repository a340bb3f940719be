// The second tab: the same calls to two copies of a fragile server, with a limiter before one of them.
import { pace } from '../charts.js';
import { byId, copyButton, element, number } from '../dom.js';
import { Freeze } from '../freeze.js';
import { Session } from '../session.js';
import { seconds } from '../settings.js';
import { Controls } from './controls.js';
import { Model, quantile, WHAT } from './model.js';
import { Sides } from './sides.js';
import { describe } from './words.js';

const BAD_MOMENT_MILLIS = 8_000;
/** Of the server's time: until a change shows, and between two announcements that nobody asked for. */
const EFFECT_MILLIS = 3_000;
const QUIET_MILLIS = 8_000;

const controls = new Controls(settingsChanged);
const sides = new Sides();
let model = new Model();
let frameCameAt = 0;
let code = '';
const freeze = new Freeze(byId('fragile-freeze'), tellAll);
let drawn = null;
let announced = { situation: '', at: 0 };
let announceAt = null;

const session = new Session({
  path: '/api/fragile',
  problem: byId('fragile-problem'),
  settings: () => controls.values(),
  hello: () => {
    model = new Model();
    announced = { situation: '', at: 0 };
    announceAt = null;
  },
  frames: take,
});

export const show = () => session.show();
export const hide = () => session.hide();

function take(frames) {
  const before = model.frames === 0 ? null : Math.floor(model.now / 1000);
  for (const frame of frames) {
    model.take(frame);
    code = frame.code ?? code;
  }
  if (before === null) announceAt = model.now + EFFECT_MILLIS;
  frameCameAt = performance.now();
  if (freeze.isOn) return;
  byId('fragile-code').textContent = code;
  tellFigures();
  if (Math.floor(model.now / 1000) !== before) tellInWords();
}

function tellAll() {
  byId('fragile-code').textContent = code;
  tellFigures();
  tellInWords();
}

function settingsChanged() {
  if (freeze.isOn) freeze.putOff();
  else tellInWords();
  session.change(() => (announceAt = model.now + EFFECT_MILLIS));
}

function tellInWords() {
  const { parts, situation } = describe(model, controls.values());
  byId('fragile-sentence').replaceChildren(...parts.map(([text, kind]) => (kind ? element('b', { class: kind }, text) : text)));
  announce(situation);
}

/** A while after the person changed something; else only if things have changed much, and not soon again. */
function announce(situation) {
  const due = announceAt !== null && model.now >= announceAt;
  const news = announceAt === null && situation !== announced.situation && model.now - announced.at >= QUIET_MILLIS;
  if (!due && !news) return;
  announced = { situation, at: model.now };
  announceAt = null;
  byId('fragile-announcer').textContent = byId('fragile-sentence').textContent;
}

const millis = (value) => (value === null ? '–' : seconds(value < 1000 ? Math.round(value) : value));

function tellFigures() {
  byId('fragile-calls').textContent = number(model.wanted);
  model.sides.forEach((side, i) => {
    const { took } = side.lately(model.now);
    const figures = {
      good: number(side.totals[WHAT.GOOD]),
      refused: number(side.totals[WHAT.REFUSED]),
      failed: number(side.totals[WHAT.FAILED]),
      turned: number(side.totals[WHAT.TURNED_AWAY]),
      waiting: number(i === 0 ? 0 : model.waiting),
      sent: number(side.totals[WHAT.SENT]),
      rate: number(side.goodPerSecond),
      half: millis(quantile(took, 0.5)),
      most: millis(quantile(took, 0.99)),
    };
    for (const [name, text] of Object.entries(figures)) byId(`fragile-${['without', 'with'][i]}-${name}`).textContent = text;
  });
}

let drawnAt = 0;

/** Between two frames time goes on, up to one frame ahead: no further than the server told. */
function draw(at) {
  requestAnimationFrame(draw);
  if (!session.shown || freeze.isOn || model.frames === 0 || at - drawnAt < pace(0)) return;
  drawnAt = at;
  sides.draw(model, model.now + Math.min(100, performance.now() - frameCameAt));
  drawn = model.now;
}

byId('fragile-bad').addEventListener('click', () => {
  session.command('POST', 'bad-moment', { millis: BAD_MOMENT_MILLIS });
});
byId('fragile-burst').addEventListener('click', () => session.command('POST', 'clicks', { requests: 50 }));
copyButton(byId('fragile-copy'), byId('fragile-code'));
document.addEventListener('themechange', () => sides.paint());
tellInWords();
requestAnimationFrame(draw);

/** For the tests, and for whoever looks under the bonnet: what is drawn, and whose simulation it is. */
window.fragile = {
  simulation: () => session.simulation,
  now: () => model.now,
  /** Whether what the person did has reached the server. */
  isHeard: () => session.isHeard,
  /** Whether all that the server told is in the picture. */
  isDrawn: () => drawn === model.now,
  wanted: () => model.wanted,
  pending: () => model.sides.map((side) => side.pending.size),
  /** For each side what is in its chart, and what was drawn and has moved out of it: good, refused, failed, turned away, sent. */
  marks: () =>
    model.sides.map((side, i) => {
      const { GOOD, REFUSED, FAILED, TURNED_AWAY, SENT } = WHAT;
      return { now: sides.drawn(i), gone: [GOOD, REFUSED, FAILED, TURNED_AWAY, SENT].map((what) => side.forgotten[what]) };
    }),
};
