// The ring counts down what the server's effective_at decides; when it is over the page
// asks the server what came of it. It is not read out each second.
import { refresh } from "./regions.js";

export function startRing() {
  run();
  document.addEventListener("witan:drawn", run);
}

let timer = 0;
function run() {
  const ring = document.querySelector("[data-ring]");
  clearInterval(timer);
  if (!ring) return;
  const total = Number(ring.dataset.total) || 5;
  const end = performance.now() + Number(ring.dataset.left) * 1000;
  const text = document.querySelector("[data-ring-text]");
  const words = document.querySelector("[data-ring-words]");
  const draw = () => {
    const left = Math.max(0, (end - performance.now()) / 1000);
    ring.setAttribute("stroke-dasharray", `${(left / total) * 100} 100`);
    const n = String(Math.ceil(left));
    if (text.textContent !== n) { text.textContent = n; words.textContent = n; }
    if (left > 0) return;
    clearInterval(timer);
    for (const b of document.querySelectorAll("[data-undo] button")) b.disabled = true;
    setTimeout(refresh, 150);
    setTimeout(refresh, 1500);
  };
  timer = setInterval(draw, 100);
  draw();
}
