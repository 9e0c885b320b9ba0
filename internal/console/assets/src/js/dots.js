// The replay's dots fill one by one when a replay has just been run (#replayed), so that
// the eye can follow the order. The answer is already on the page.
export function startDots() {
  const list = document.querySelector("[data-dots]");
  if (!list || location.hash !== "#replayed" || matchMedia("(prefers-reduced-motion:reduce)").matches) return;
  const dots = [...list.children];
  list.classList.add("play");
  for (const d of dots) d.classList.add("later");
  const each = Math.min(120, 900 / dots.length);
  dots.forEach((d, i) => setTimeout(() => d.classList.remove("later"), each * (i + 1)));
}
