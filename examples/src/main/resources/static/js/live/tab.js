// The first tab: starts a simulation on the server while it is shown, draws what that tells, sends what the person does.
import { byId, copyButton, number, tell } from '../dom.js';
import { send, serverEvents } from '../http.js';
import { Controls } from './controls.js';
import { Lanes } from './lanes.js';
import { Model } from './model.js';
import { Stage } from './stage.js';

const SETTLE_MILLIS = 150;
const RETRY_MILLIS = 2_000;
const LANES_MILLIS = 400;
const MANY_MARKS = 1_200;

const problem = byId('live-problem');
const stillness = matchMedia('(prefers-reduced-motion: reduce)');
const controls = new Controls(settingsChanged);
const stage = new Stage();
const lanes = new Lanes(controls.policies(), choosePolicy);

let shown = false;
let stream = null;
let simulation = null;
let model = new Model([]);
let frameCameAt = 0;
let frozen = false;
let settling = 0;
let commands = 0;

export function show() {
  shown = true;
  start();
}

export function hide() {
  shown = false;
  stop();
}

function stop() {
  stream?.abort();
  stream = null;
  simulation = null;
}

async function start() {
  if (!shown || stream) return;
  const mine = (stream = new AbortController());
  try {
    for await (const event of serverEvents('/api/live', controls.values(), mine.signal)) take(event);
    if (stream === mine) again(null);
  } catch (failure) {
    if (stream === mine) again(failure.message);
  }
}

function again(message) {
  tell(problem, message);
  stop();
  setTimeout(start, RETRY_MILLIS);
}

function take({ name, data }) {
  if (name === 'hello') {
    tell(problem, null);
    simulation = data.simulation;
    model = new Model(data.policies);
    return;
  }
  model.take(data);
  frameCameAt = performance.now();
  if (data.code) byId('code').textContent = data.code;
  tellFigures();
}

async function command(method, path, body) {
  if (!simulation) return;
  commands++;
  try {
    await send(method, `/api/live/${simulation}/${path}`, body);
    tell(problem, null);
  } catch (refused) {
    tell(problem, refused.message);
  } finally {
    commands--;
  }
}

function settingsChanged() {
  lanes.choose(controls.values().policy);
  clearTimeout(settling);
  settling = setTimeout(() => {
    settling = 0;
    byId('announcer').textContent = byId('sentence').textContent;
    command('PUT', 'settings', controls.values());
  }, SETTLE_MILLIS);
}

function choosePolicy(policy) {
  controls.choose(policy);
  settingsChanged();
}

const shownLane = () => model.lane(controls.values().policy);

function tellFigures() {
  const lane = shownLane();
  if (!lane || frozen) return;
  const rate = lane.rate(model.now);
  byId('figure-arrived').textContent = number(model.arrived);
  byId('figure-left').textContent = number(lane.totals[1]);
  byId('figure-denied').textContent = number(lane.totals[2]);
  byId('figure-waiting').textContent = number(lane.level.waiting);
  byId('figure-remaining').textContent = `${number(lane.level.remaining)} of ${number(lane.level.limit)}`;
  byId('figure-rate').textContent = rate === null ? '–' : number(rate);
}

let drawnAt = 0;
let lanesDrawnAt = 0;
let drawn = null;

/** Between two frames time goes on, up to one frame ahead: no further than the server told. */
function draw(at) {
  requestAnimationFrame(draw);
  const lane = shownLane();
  if (!shown || frozen || !lane || model.frames === 0) return;
  const pace = stillness.matches ? 1_000 : model.arrivals.length > MANY_MARKS ? 120 : 33;
  if (at - drawnAt >= pace) {
    drawnAt = at;
    stage.draw(model, lane, model.now + Math.min(100, performance.now() - frameCameAt));
    drawn = `${lane.policy} at ${model.now}`;
  }
  if (at - lanesDrawnAt >= Math.max(LANES_MILLIS, pace)) {
    lanesDrawnAt = at;
    lanes.draw(model);
  }
}

byId('click').addEventListener('click', () => command('POST', 'clicks', { requests: 1 }));
byId('click-many').addEventListener('click', () => command('POST', 'clicks', { requests: 20 }));
byId('pause').addEventListener('click', () => command('POST', 'pause', { millis: 2_000 }));
byId('cancel').addEventListener('click', () => command('POST', 'cancel'));
byId('freeze').addEventListener('click', () => {
  frozen = !frozen;
  byId('freeze').setAttribute('aria-pressed', String(frozen));
});
copyButton(byId('copy'), byId('code'));
document.addEventListener('themechange', () => {
  stage.paint();
  lanes.paint();
});
lanes.choose(controls.values().policy);
requestAnimationFrame(draw);

/** For the tests, and for whoever looks under the bonnet: what is drawn, and whose simulation it is. */
window.playground = {
  simulation: () => simulation,
  now: () => model.now,
  /** Whether what the person did has reached the server. */
  isHeard: () => settling === 0 && commands === 0,
  /** Whether all that the server told is in the picture. */
  isDrawn: () => drawn === `${controls.values().policy} at ${model.now}`,
  arrived: () => model.arrived,
  /** Marks in the chart: arrived, let through, denied, cancelled; and those of ended requests that were drawn and have moved out of it. */
  marks: () => ({ now: stage.marks(), gone: shownLane()?.forgotten }),
  departures: () => shownLane()?.ended.filter((end) => end.what === 1).map((end) => end.at),
  lane: (policy) => ({ ...model.lane(policy)?.level, totals: model.lane(policy)?.totals }),
};
