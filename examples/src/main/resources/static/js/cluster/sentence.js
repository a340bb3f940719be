// What one sees now, in words.
import { element, number } from '../dom.js';

const bold = (text, kind) => element('b', kind ? { class: kind } : {}, text);

const ALONE = {
  open: () => 'each instance lets everything through',
  closed: () => 'each instance turns everything away',
  local: ({ sharedRate }) => `each instance allows ${number(sharedRate / 2)} a second of its own`,
};

function decisionsAlone(model) {
  const alone = model.total('alone');
  if (alone === 0) return '';
  return alone === 1 ? ' One decision was degraded.' : ` ${number(alone)} decisions were degraded.`;
}

/** What is the case, for whoever wants to know when that changes; and the words for it. */
export function situation(model, settings) {
  const { redis, isAway } = model.last;
  const limit = `${number(settings.sharedRate)} a second`;
  if (redis === 'none') {
    return {
      kind: 'none',
      words: [bold('Two instances'), ` of an application share a limit of ${limit} through Redis. Start it, and see what they do when it dies.`],
    };
  }
  if (isAway) {
    const trouble = redis === 'down' ? 'Redis is away' : 'Redis does not answer';
    return {
      kind: `${trouble}, ${settings.failure}`,
      words: [bold(trouble, 'denied'), `: ${ALONE[settings.failure](settings)}.${decisionsAlone(model)}`],
    };
  }
  return {
    kind: 'up',
    words: [
      bold('Redis rules', 'left'),
      ': A and B together were let through ',
      bold(`${number(Math.round(model.rate('allowed')))} times`),
      ` in the last second; the limit is ${limit}.${decisionsAlone(model)}`,
    ],
  };
}
