// The tabs, and the switch between light and dark. A tab is a module with show() and hide(), loaded when first shown.
const TABS = {
  live: () => import('./live/tab.js'),
  fragile: () => import('./fragile/tab.js'),
  cluster: () => import('./cluster/tab.js'),
  replay: () => import('./replay/tab.js'),
};
const names = Object.keys(TABS);
const button = (name) => document.getElementById(`tab-${name}`);
let shown = null;

async function show(name, focus) {
  for (const each of names) {
    const selected = each === name;
    button(each).setAttribute('aria-selected', String(selected));
    button(each).tabIndex = selected ? 0 : -1;
    document.getElementById(`panel-${each}`).hidden = !selected;
  }
  if (focus) button(name).focus();
  if (shown === name) return;
  const before = shown;
  shown = name;
  history.replaceState(null, '', `#${name}`);
  if (before) (await TABS[before]()).hide();
  const tab = await TABS[name]();
  if (shown === name) tab.show();
}

function besides(name, key) {
  const at = names.indexOf(name);
  return {
    ArrowRight: names[(at + 1) % names.length],
    ArrowLeft: names[(at + names.length - 1) % names.length],
    Home: names[0],
    End: names[names.length - 1],
  }[key];
}

for (const name of names) {
  button(name).addEventListener('click', () => show(name, false));
  button(name).addEventListener('keydown', (event) => {
    const next = besides(name, event.key);
    if (next) {
      event.preventDefault();
      show(next, true);
    }
  });
}

const theme = document.getElementById('theme');
const isDark = () => document.documentElement.dataset.theme === 'dark';
const sayTheme = () => theme.setAttribute('aria-pressed', String(isDark()));
theme.addEventListener('click', () => {
  const chosen = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem('theme', chosen);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  document.dispatchEvent(new CustomEvent('themechange'));
});
document.addEventListener('themechange', sayTheme);
sayTheme();

const wanted = () => (names.includes(location.hash.slice(1)) ? location.hash.slice(1) : names[0]);
addEventListener('hashchange', () => names.includes(location.hash.slice(1)) && show(wanted(), false));
show(wanted(), false);
