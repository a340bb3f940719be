// The replay tab: a log and some policies go to the server; what they would have done comes back.
import { repaint } from '../charts.js';
import { byId, colour, copyButton, element, number, tell } from '../dom.js';
import { sendText } from '../http.js';
import { sampleLog } from './sample.js';
import { PolicyRows } from './policies.js';

const LARGEST_BYTES = 8_000_000;
const colourOf = (i) => `policy-${i + 1}`;

const form = byId('replay-form');
const settings = byId('replay-settings');
const problem = byId('replay-problem');
const note = byId('log-note');
const rows = new PolicyRows(byId('policies'), byId('add-policy'));
let chart = null;
let file = null;

export function show() {}

export function hide() {}

/** Results of a log before would seem to be those of the one that was refused. */
function refuse(reason) {
  byId('replay-result').hidden = true;
  tell(problem, reason);
}

function takeFile(taken) {
  if (!taken) return;
  if (taken.size > LARGEST_BYTES) {
    refuse(`${taken.name} has ${number(taken.size / 1e6)} MB; a page may send 8 MB. The replay command takes logs of any size.`);
    return;
  }
  tell(problem, null);
  file = taken;
  form.elements.log.value = '';
  note.textContent = `${taken.name}, ${number(taken.size / 1e6)} MB, is chosen. What is typed above takes its place.`;
}

const drop = byId('drop');
for (const kind of ['dragenter', 'dragover']) {
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.add('dropping');
  });
}
for (const kind of ['dragleave', 'drop']) drop.addEventListener(kind, () => drop.classList.remove('dropping'));
drop.addEventListener('drop', (event) => {
  event.preventDefault();
  takeFile(event.dataTransfer.files[0]);
});
form.elements.file.addEventListener('change', (event) => takeFile(event.target.files[0]));
form.elements.log.addEventListener('input', () => {
  file = null;
  note.textContent = 'At most 8 MB; it is read by the server on this machine, and not kept.';
});
form.addEventListener('submit', (event) => event.preventDefault());
byId('sample').addEventListener('click', () => {
  file = null;
  form.elements.log.value = sampleLog();
  settings.requestSubmit();
});

function query(policies) {
  const parameters = policies.map((policy) => ['policy', policy]);
  parameters.push(['key', settings.elements.key.value]);
  if (settings.elements.maxWaitMillis.value !== '') parameters.push(['maxWaitMillis', settings.elements.maxWaitMillis.value]);
  return new URLSearchParams(parameters);
}

settings.addEventListener('submit', async (event) => {
  event.preventDefault();
  const policies = rows.texts();
  const button = byId('run-replay');
  button.setAttribute('aria-busy', 'true');
  tell(problem, null);
  try {
    const log = file ?? form.elements.log.value;
    const response = await sendText(`/api/replay?${query(policies)}`, log);
    present(await response.json(), policies);
  } catch (refused) {
    refuse(refused.message);
  } finally {
    button.removeAttribute('aria-busy');
  }
});

/** The server writes durations as ISO 8601 does; those here are seconds, minutes and hours. */
export function millis(duration) {
  const [, hours, minutes, seconds] = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(duration) ?? [];
  return (Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0)) * 1000;
}

const wait = (duration) => {
  const ms = millis(duration);
  if (ms === 0) return '–';
  return ms < 10_000 ? `${number(Math.round(ms))} ms` : `${number(ms / 1000)} s`;
};

function present(report, policies) {
  const facts = [`${number(report.requests)} requests from ${time(report.from)} to ${time(report.to)} (UTC).`];
  if (report.unreadable > 0) facts.push(`${number(report.unreadable)} lines could not be read.`);
  if (report.outOfOrder > 0) facts.push(`${number(report.outOfOrder)} came out of order and were moved up to the one ahead.`);
  if (report.withoutKey > 0) facts.push(`${number(report.withoutKey)} name no ${settings.elements.key.value} and count as one key, “-”.`);
  byId('replay-facts').textContent = facts.join(' ');
  byId('replay-table').replaceChildren(...table(report));
  byId('replay-worst').replaceChildren(...report.outcomes.map(worst));
  byId('command').textContent = commandLine(policies);
  byId('replay-result').hidden = false;
  draw(report);
  const summary = report.outcomes.map((o) => `${o.policy}: ${number(o.denied)} denied`).join('; ');
  byId('replay-announcer').textContent = `${number(report.requests)} requests replayed. ${summary}`;
}

const time = (instant) => instant.replace('T', ' ').replace(/(\.\d+)?Z$/, '');

const cells = (tag, values) => values.map((value) => element(tag, tag === 'th' ? { scope: 'col' } : {}, value));

function table(report) {
  const titles = ['Policy', 'Allowed', 'Denied', 'Share', 'Delayed', '99 % wait at most', 'Longest wait', 'Keys limited'];
  const lines = report.outcomes.map((outcome, i) => {
    const swatch = element('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.backgroundColor = `var(--${colourOf(i)})`;
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, swatch, outcome.policy),
      ...cells('td', [
        number(outcome.allowed),
        number(outcome.denied),
        `${number((100 * outcome.denied) / report.requests)} %`,
        number(outcome.delayed),
        wait(outcome.p99Delay),
        wait(outcome.longestDelay),
        (outcome.exact ? '' : '≥ ') + number(outcome.keysLimited),
      ]),
    );
  });
  return [
    element('caption', {}, 'Policies compared'),
    element('thead', {}, element('tr', {}, ...cells('th', titles))),
    element('tbody', {}, ...lines),
  ];
}

function worst(outcome) {
  if (outcome.worst.length === 0) return element('p', {}, `${outcome.policy} would have limited nobody.`);
  const lines = outcome.worst.map(({ key, denied, requests }) =>
    element('tr', {}, element('td', { title: key }, key), ...cells('td', [number(denied), number(requests)])),
  );
  return element(
    'table',
    {},
    element('caption', {}, `Limited most by ${outcome.policy}`),
    element('thead', {}, element('tr', {}, ...cells('th', ['Key', 'Denied', 'Requests']))),
    element('tbody', {}, ...lines),
  );
}

function commandLine(policies) {
  const options = policies.map((policy) => `-p ${policy}`);
  if (settings.elements.key.value !== 'host') options.push(`-k ${settings.elements.key.value}`);
  if (settings.elements.maxWaitMillis.value !== '') options.push(`-w ${settings.elements.maxWaitMillis.value}`);
  return `mvn -q -pl examples -am -Preplay spring-boot:run -Dreplay="access.log ${options.join(' ')} --plot replay.svg"`;
}

function draw(report) {
  const bucketSeconds = millis(report.bucket) / 1000;
  const start = Date.parse(report.from);
  const label = (i) => new Date(start + i * bucketSeconds * 1000).toISOString().slice(11, 19);
  const line = (name, counts, style) => ({
    label: name,
    data: counts.map((count) => count / bucketSeconds),
    pointRadius: 0,
    stepped: true,
    borderWidth: 1.6,
    ...style,
  });
  chart?.destroy();
  chart = new Chart(byId('replay-chart'), {
    type: 'line',
    data: {
      labels: report.outcomes[0].departures.map((_, i) => label(i)),
      datasets: [
        ...report.outcomes.map((outcome, i) => line(outcome.policy, outcome.departures)),
        line('arrived', report.arrivals, { fill: 'origin', borderWidth: 0 }),
      ],
    },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: 'index', intersect: false },
      plugins: { legend: { position: 'bottom', labels: { boxWidth: 14, boxHeight: 3 } } },
      scales: {
        x: { grid: { display: false }, ticks: { maxTicksLimit: 8, maxRotation: 0, autoSkipPadding: 14 } },
        y: { min: 0, title: { display: true, text: 'requests per second' } },
      },
    },
  });
  paint();
}

function paint() {
  if (!chart) return;
  const sets = chart.data.datasets;
  sets.slice(0, -1).forEach((set, i) => Object.assign(set, { borderColor: colour(colourOf(i)), backgroundColor: colour(colourOf(i)) }));
  sets.at(-1).backgroundColor = `${colour('soft')}40`;
  chart.options.plugins.legend.labels.color = colour('ink');
  for (const axis of Object.values(chart.options.scales)) {
    axis.ticks.color = colour('soft');
    axis.border = { display: false };
  }
  chart.options.scales.y.title.color = colour('soft');
  chart.options.scales.y.grid = { color: colour('rule') };
  repaint(chart);
}

document.addEventListener('themechange', paint);
copyButton(byId('copy-command'), byId('command'));
