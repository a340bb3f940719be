// A simulation that runs on the server while its tab is shown: the stream of what happens there, and the commands to it.
import { tell } from './dom.js';
import { send, serverEvents } from './http.js';

const SETTLE_MILLIS = 150;
const RETRY_MILLIS = 2_000;

export class Session {
  #shown = false;
  #stream = null;
  #settling = 0;
  #commands = 0;

  /**
   * @param path where simulations are started
   * @param problem where to say what went wrong
   * @param settings what the person wants now
   * @param hello told of the first event of each stream
   * @param frames told of what happened since: a list, which is long at first if there is a history
   */
  constructor({ path, problem, settings, hello, frames }) {
    Object.assign(this, { path, problem, settings, hello, frames });
    /** Whose commands are obeyed; null while there is none. */
    this.simulation = null;
  }

  get shown() {
    return this.#shown;
  }

  /** Whether what the person did has reached the server. */
  get isHeard() {
    return this.#settling === 0 && this.#commands === 0;
  }

  show() {
    this.#shown = true;
    this.#start();
  }

  hide() {
    this.#shown = false;
    this.#stop();
  }

  #stop() {
    this.#stream?.abort();
    this.#stream = null;
    this.simulation = null;
  }

  async #start() {
    if (!this.#shown || this.#stream) return;
    const mine = (this.#stream = new AbortController());
    const first = this.settings();
    try {
      for await (const event of serverEvents(this.path, first, mine.signal)) this.#take(event, first);
      if (this.#stream === mine) this.#again(null);
    } catch (failure) {
      if (this.#stream === mine) this.#again(failure.message);
    }
  }

  #again(message) {
    tell(this.problem, message);
    this.#stop();
    setTimeout(() => this.#start(), RETRY_MILLIS);
  }

  #take({ name, data }, first) {
    if (name === 'hello') {
      tell(this.problem, null);
      this.simulation = data.simulation;
      this.hello(data);
      // What was changed meanwhile found no simulation.
      if (JSON.stringify(this.settings()) !== JSON.stringify(first)) this.command('PUT', 'settings', this.settings());
    } else if (name === 'history') {
      this.frames(data);
    } else {
      this.frames([data]);
    }
  }

  async command(method, path, body) {
    if (!this.simulation) return;
    this.#commands++;
    try {
      await send(method, `${this.path}/${this.simulation}/${path}`, body);
      tell(this.problem, null);
    } catch (refused) {
      tell(this.problem, refused.message);
    } finally {
      this.#commands--;
    }
  }

  /** Sends the settings once the person has let go; tells when that is. */
  change(settled) {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#settling = 0;
      settled();
      this.command('PUT', 'settings', this.settings());
    }, SETTLE_MILLIS);
  }
}
