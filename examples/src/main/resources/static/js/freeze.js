/**
 * A button that holds the whole picture: charts, figures, words and selection. What the person sets meanwhile reaches the server, and shows when
 * the picture goes on; the button says so.
 */
export class Freeze {
  /** @param goOn shows what has happened meanwhile */
  constructor(button, goOn) {
    this.button = button;
    this.label = button.textContent;
    this.isOn = false;
    button.addEventListener('click', () => {
      this.isOn = !this.isOn;
      button.textContent = this.label;
      button.setAttribute('aria-pressed', String(this.isOn));
      if (!this.isOn) goOn();
    });
  }

  /** Something has changed that a frozen picture does not show. */
  putOff() {
    if (this.isOn) this.button.textContent = 'Show the change';
  }
}
