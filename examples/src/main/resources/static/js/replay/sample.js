// An access log to try: ten minutes of people, one eager script and one visit by a crawler. The same each time.

const START = Date.UTC(2026, 9, 10, 13, 50, 0);
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function line(second, host, path) {
  const at = new Date(START + second * 1000);
  const two = (n) => String(n).padStart(2, '0');
  const day = `${two(at.getUTCDate())}/${MONTHS[at.getUTCMonth()]}/${at.getUTCFullYear()}`;
  const clock = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  return `${host} - - [${day}:${clock} +0000] "GET ${path} HTTP/1.1" 200 512 "-" "example"`;
}

export function sampleLog() {
  const random = generator(42);
  const lines = [];
  for (let second = 0; second < 600; second++) {
    for (let client = 1; client <= 12; client++) {
      if (random() < 0.25) lines.push(line(second, `198.51.100.${client}`, '/catalogue'));
    }
    const eager = second % 60 < 20 ? 9 : 1;
    for (let i = 0; i < eager; i++) lines.push(line(second, '203.0.113.7', '/orders'));
    if (second >= 300 && second < 330) {
      for (let i = 0; i < 25; i++) lines.push(line(second, '192.0.2.66', `/catalogue/${i}`));
    }
  }
  return lines.join('\n');
}
