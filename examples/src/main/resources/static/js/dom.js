export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; text is text, never markup. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made && typeof value !== 'string') made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export const number = (value) => new Intl.NumberFormat('en', { maximumFractionDigits: 1 }).format(value);

/** Says what went wrong, or nothing any more. */
export function tell(box, problem) {
  const text = problem ?? '';
  box.hidden = !text;
  // The same words again would be read aloud again.
  if (box.textContent !== text) box.textContent = text;
}

export function copyButton(button, source) {
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = 'Selected: press Ctrl+C';
    }
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
}
