// The tab of the cluster: two instances on the server and, when the person asks for it, a Redis for them that can be killed.
import { pace } from '../charts.js';
import { byId, copyButton, element, number } from '../dom.js';
import { Freeze } from '../freeze.js';
import { Session } from '../session.js';
import { Controls } from './controls.js';
import { Model } from './model.js';
import { situation } from './sentence.js';
import { Stage } from './stage.js';

const WORDS_MILLIS = 500;
const ANNOUNCE_MILLIS = 1_500;
const COUNTS = ['arrived', 'allowed', 'denied', 'alone'];
const ALONE = { open: 'alone: lets all through', closed: 'alone: turns all away', local: 'alone: gives out its share' };

const controls = new Controls(() => {
  if (freeze.isOn) freeze.putOff();
  else tellWords();
  session.change(() => {});
});
const freeze = new Freeze(byId('cluster-hold'), tellAll);
const stage = new Stage();
const deeds = { start: byId('cluster-start'), kill: byId('cluster-kill'), freeze: byId('cluster-freeze') };

let model = new Model();
let frameCameAt = 0;
let busy = false;
let code = '';

const session = new Session({
  path: '/api/cluster',
  problem: byId('cluster-problem'),
  settings: () => controls.values(),
  hello: () => (model = new Model()),
  frames: take,
});

export function show() {
  session.show();
}

/** The Redis of this page ends now; whoever comes back finds none. */
export function hide() {
  session.hide();
  model = new Model();
  if (!freeze.isOn) tellAll();
}

function take(frames) {
  for (const frame of frames) {
    model.take(frame);
    code = frame.code ?? code;
  }
  frameCameAt = performance.now();
  if (freeze.isOn) return tellDeeds(model.last.redis);
  byId('cluster-code').textContent = code;
  tellFigures();
}

function tellAll() {
  byId('cluster-code').textContent = code;
  tellFigures();
  tellWords();
}

const rows = ['A', 'B', 'together'].map((name) => {
  const cells = Object.fromEntries([...COUNTS, 'decides'].map((count) => [count, element('td', {}, '0')]));
  byId('cluster-figures').append(element('tr', {}, element('th', { scope: 'row' }, name), ...Object.values(cells)));
  return cells;
});

function tellFigures() {
  const { instances, redis } = model.last;
  const failure = ALONE[controls.values().failure];
  const put = (cell, text) => cell.textContent === text || (cell.textContent = text);
  for (const count of COUNTS) {
    instances.forEach((instance, index) => put(rows[index][count], number(instance[count])));
    put(rows[2][count], number(model.total(count)));
  }
  instances.forEach(({ isAlone }, index) => put(rows[index].decides, redis === 'none' ? '–' : isAlone ? failure : 'with Redis'));
  put(rows[2].decides, '');
  tellDeeds(redis);
}

function tellDeeds(redis) {
  const may = { start: redis !== 'up', kill: redis === 'up', freeze: redis === 'up' };
  for (const [name, button] of Object.entries(deeds)) button.setAttribute('aria-disabled', String(busy || !may[name]));
  const label = { none: 'Start Redis', down: 'Start Redis again' }[redis];
  if (label && deeds.start.textContent !== label) deeds.start.textContent = label;
}

let announced = null;
let announcing = 0;

/** Said aloud when something else is the case, a little later, when the figures tell something too. */
function tellWords() {
  const { kind, words } = situation(model, controls.values());
  const sentence = byId('cluster-sentence');
  const made = element('p', {}, ...words);
  if (made.innerHTML !== sentence.innerHTML) sentence.replaceChildren(...made.childNodes);
  if (kind === announced) return;
  announced = kind;
  clearTimeout(announcing);
  announcing = setTimeout(() => (byId('cluster-announcer').textContent = sentence.textContent), ANNOUNCE_MILLIS);
}

async function act(deed) {
  if (deeds[deed].getAttribute('aria-disabled') === 'true') return;
  busy = true;
  tellDeeds(model.last.redis);
  await session.command('POST', 'redis', { deed });
  busy = false;
  tellDeeds(model.last.redis);
}

let drawnAt = 0;
let worded = 0;
let drawn = -1;

function draw(at) {
  requestAnimationFrame(draw);
  if (!session.shown || freeze.isOn || model.frames === 0) return;
  if (at - drawnAt >= pace(0)) {
    drawnAt = at;
    stage.draw(model, model.now + Math.min(100, performance.now() - frameCameAt));
    drawn = model.now;
  }
  if (at - worded >= WORDS_MILLIS) {
    worded = at;
    tellWords();
  }
}

for (const deed of Object.keys(deeds)) deeds[deed].addEventListener('click', () => act(deed));
copyButton(byId('cluster-copy'), byId('cluster-code'));
document.addEventListener('themechange', () => stage.paint());
tellAll();
requestAnimationFrame(draw);

/** For the tests, and for whoever looks under the bonnet. */
window.cluster = {
  simulation: () => session.simulation,
  redis: () => model.last.redis,
  now: () => model.now,
  /** Whether what the person did has reached the server, and was done. */
  isHeard: () => session.isHeard && !busy,
  /** Whether all that the server told is in the picture. */
  isDrawn: () => drawn === model.now,
  /** Whether nothing came in the last second. */
  isStill: () => model.rate('arrived') === 0,
  instances: () => model.last.instances,
  samples: () => model.samples,
};
