/** What a server refused, in words for a person. */
export class Refusal extends Error {
  constructor(status, message, field) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

async function refusal(response) {
  const problem = await response.json().catch(() => ({}));
  if (response.status === 429) {
    const wait = response.headers.get('Retry-After');
    const when = wait ? `Try again in ${wait} s.` : 'Try again later.';
    return new Refusal(429, `The playground limits itself, with the library it shows: that was too much. ${when}`);
  }
  return new Refusal(response.status, problem.detail ?? `The server answered ${response.status}.`, problem.field);
}

async function checked(request) {
  let response;
  try {
    response = await request;
  } catch (failure) {
    if (failure.name === 'AbortError') throw failure;
    throw new Refusal(0, 'The server does not answer. Is the playground still running?');
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

export function send(method, url, body) {
  const headers = { 'Content-Type': 'application/json' };
  return checked(fetch(url, { method, headers, body: JSON.stringify(body ?? {}) }));
}

export function sendText(url, text) {
  return checked(fetch(url, { method: 'POST', headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: text }));
}

/** The events of a stream that a POST starts; EventSource could neither send settings nor tell why it was refused. */
export async function* serverEvents(url, body, signal) {
  const headers = { 'Content-Type': 'application/json', Accept: 'text/event-stream, application/problem+json' };
  const response = await checked(fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split('\n\n');
    text = blocks.pop();
    for (const block of blocks) yield parse(block);
  }
}

function parse(block) {
  const field = (name) =>
    block
      .split('\n')
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).trimStart())
      .join('\n');
  return { name: field('event'), data: JSON.parse(field('data')) };
}
