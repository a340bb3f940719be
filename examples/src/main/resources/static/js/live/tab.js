// The first tab: starts a simulation on the server while it is shown, draws what that tells, sends what the person does.
import { pace } from '../charts.js';
import { byId, copyButton, number } from '../dom.js';
import { Freeze } from '../freeze.js';
import { Session } from '../session.js';
import { Controls } from './controls.js';
import { Lanes } from './lanes.js';
import { Model } from './model.js';
import { Stage } from './stage.js';

const LANES_MILLIS = 400;

const controls = new Controls(settingsChanged);
const stage = new Stage();
const lanes = new Lanes(controls.policies(), choosePolicy);

let model = new Model([]);
let frameCameAt = 0;
let code = '';
const freeze = new Freeze(byId('freeze'), tellAll);

const session = new Session({
  path: '/api/live',
  problem: byId('live-problem'),
  settings: () => controls.values(),
  hello: ({ policies }) => (model = new Model(policies)),
  frames: take,
});

export const show = () => session.show();
export const hide = () => session.hide();

function take(frames) {
  for (const frame of frames) {
    model.take(frame);
    code = frame.code ?? code;
  }
  frameCameAt = performance.now();
  if (freeze.isOn) return;
  byId('code').textContent = code;
  tellFigures();
}

function settingsChanged() {
  if (freeze.isOn) freeze.putOff();
  else tellSettings();
  session.change(announce);
}

function tellSettings() {
  lanes.choose(controls.values().policy);
  byId('sentence').replaceChildren(...controls.sentence());
}

function announce() {
  if (!freeze.isOn) byId('announcer').textContent = byId('sentence').textContent;
}

function tellAll() {
  byId('code').textContent = code;
  tellSettings();
  tellFigures();
  announce();
}

function choosePolicy(policy) {
  controls.choose(policy);
  settingsChanged();
}

const shownLane = () => model.lane(controls.values().policy);

function tellFigures() {
  const lane = shownLane();
  if (!lane) return;
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
  if (!session.shown || freeze.isOn || !lane || model.frames === 0) return;
  const rest = pace(model.arrivals.length);
  if (at - drawnAt >= rest) {
    drawnAt = at;
    stage.draw(model, lane, model.now + Math.min(100, performance.now() - frameCameAt));
    drawn = `${lane.policy} at ${model.now}`;
  }
  if (at - lanesDrawnAt >= Math.max(LANES_MILLIS, rest)) {
    lanesDrawnAt = at;
    lanes.draw(model);
  }
}

byId('click').addEventListener('click', () => session.command('POST', 'clicks', { requests: 1 }));
byId('click-many').addEventListener('click', () => session.command('POST', 'clicks', { requests: 20 }));
byId('pause').addEventListener('click', () => session.command('POST', 'pause', { millis: 2_000 }));
byId('cancel').addEventListener('click', () => session.command('POST', 'cancel'));
copyButton(byId('copy'), byId('code'));
document.addEventListener('themechange', () => {
  stage.paint();
  lanes.paint();
});
tellSettings();
requestAnimationFrame(draw);

/** For the tests, and for whoever looks under the bonnet: what is drawn, and whose simulation it is. */
window.playground = {
  simulation: () => session.simulation,
  now: () => model.now,
  /** Whether what the person did has reached the server. */
  isHeard: () => session.isHeard,
  /** Whether all that the server told is in the picture. */
  isDrawn: () => drawn === `${controls.values().policy} at ${model.now}`,
  arrived: () => model.arrived,
  /** Marks in the chart: arrived, let through, denied, cancelled; and those of ended requests that were drawn and have moved out of it. */
  marks: () => ({ now: stage.marks(), gone: shownLane()?.forgotten }),
  departures: () => shownLane()?.ended.filter((end) => end.what === 1).map((end) => end.at),
  lane: (policy) => ({ ...model.lane(policy)?.level, totals: model.lane(policy)?.totals }),
};
