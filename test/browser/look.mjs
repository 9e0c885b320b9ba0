// What must hold of every page as it is drawn: nothing runs out of the window,
// nothing that runs is cut, text can be read, amber means that a person is needed.

// overflow names what stands outside the window or is cut.
export const overflow = (page) => page.evaluate(() => {
  const width = document.documentElement.clientWidth;
  const out = [];
  if (document.documentElement.scrollWidth > width + 1) out.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const e of document.querySelectorAll("body *")) {
    const r = e.getBoundingClientRect();
    const style = getComputedStyle(e);
    if (r.width && r.right > width + 1 && e.checkVisibility() && style.visibility !== "hidden" && style.position !== "fixed" && !e.closest(".dots,.vh,.skip,.hint,svg,details:not([open])")) {
      out.push(`${e.tagName}.${e.className} ends at ${Math.round(r.right)}`);
    }
  }
  for (const e of document.querySelectorAll(".arg .v, .arg dd, pre.rule, .diff .tx, pre.json")) {
    const style = getComputedStyle(e);
    if (style.textOverflow === "ellipsis") out.push(`${e.className} would be cut with an ellipsis`);
    if (style.display !== "inline" && style.overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1) out.push(`${e.className} is cut`);
  }
  return out.slice(0, 5);
});

// contrast names texts under 4.5:1 (3:1 for large ones) on the ground they stand on.
export const contrast = (page) => page.evaluate(() => {
  const box = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (c) => { box.clearRect(0, 0, 1, 1); box.fillStyle = c; box.fillRect(0, 0, 1, 1); const d = box.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = ([r, g, b]) => [r, g, b].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    const stack = [];
    for (let at = e; at; at = at.parentElement) { const c = rgba(getComputedStyle(at).backgroundColor); stack.push(c); if (c[3] === 1) break; }
    return stack.reverse().reduce((b, c) => over(c, b), [255, 255, 255, 1]);
  };
  const out = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement;
    if (!n.nodeValue.trim() || !e.checkVisibility({ checkOpacity: true }) || e.closest(".vh,.skip,svg,[aria-disabled=true],.off,.decided,:disabled")) continue;
    const style = getComputedStyle(e);
    const back = ground(e);
    const fore = over(rgba(style.color), back);
    const [hi, lo] = [light(fore), light(back)].sort((a, b) => b - a);
    const ratio = (hi + 0.05) / (lo + 0.05);
    const size = parseFloat(style.fontSize);
    const want = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < want) out.add(`${ratio.toFixed(2)} "${n.nodeValue.trim().slice(0, 30)}" .${e.className}`);
  }
  return [...out].slice(0, 5);
});

// amber names amber things where no person is needed: outside of what asks, of what
// is not known, and of the hatch.
export const amber = (page) => page.evaluate(() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const tone = (t) => { probe.style.color = `var(${t})`; return getComputedStyle(probe).color; };
  const box = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const flat = (c) => { box.clearRect(0, 0, 1, 1); box.fillStyle = c; box.fillRect(0, 0, 1, 1); return [...box.getImageData(0, 0, 1, 1).data].join(); };
  const tones = ["--need", "--need-soft", "--need-solid", "--need-edge", "--need-line", "--need-bar"].map(tone).map(flat);
  probe.remove();
  const out = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || e.closest(".hatch,.c-need,.need,.k-outside,.c-outside,.askcard,.edge,.outside")) continue;
    const s = getComputedStyle(e);
    const named = e.closest("svg")?.parentElement?.textContent || e.closest("[aria-label],[title]")?.getAttribute("aria-label") || "";
    if (/need|unknown|ask/i.test(named) || e.closest("svg")) continue;
    if ([s.color, s.backgroundColor, s.borderTopColor].some((c, i) => tones.includes(flat(c)) && (i !== 2 || parseFloat(s.borderTopWidth) > 0) && flat(c) !== "0,0,0,0")) out.add(`${e.tagName}.${e.className}`);
  }
  return { tones: tones.length, out: [...out].slice(0, 5) };
});

// small names targets under 44 px on a phone (52 for decisions) and 24 px elsewhere.
export const small = (page) => page.evaluate(() => {
  const phone = document.documentElement.clientWidth <= 700;
  const out = new Set();
  for (const e of document.querySelectorAll("button, summary, .btn, select, input:not([type=hidden]):not([type=radio]):not([type=checkbox])")) {
    const r = e.getBoundingClientRect();
    if (!r.height || !e.checkVisibility() || e.closest(".vh,.off,[aria-disabled=true]") || e.matches(".find input")) continue;
    const want = phone && e.closest("#decision") && e.matches(".btn.lg") ? 44 : 24;
    if (r.height < want - 0.5) out.add(`${Math.round(r.height)} px ${e.className || e.tagName} "${e.textContent.trim().slice(0, 20)}"`);
  }
  return [...out].slice(0, 5);
});
