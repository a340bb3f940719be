// Runs before the first paint, so that nobody who likes it dark sees a flash of white. Not a module: those come later.
(() => {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const stored = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null;
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = stored() ?? (system.matches ? 'dark' : 'light');
  };
  system.addEventListener('change', () => {
    apply();
    document.dispatchEvent(new CustomEvent('themechange'));
  });
  apply();
})();
