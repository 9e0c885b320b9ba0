// morph makes one element like another in place, so that scroll, focus, open panels and
// half-written answers stay. Children are matched by id, then by tag in order.
export function morph(from, to) {
  if (from.isEqualNode(to)) return;
  attributes(from, to);
  const keep = new Map();
  for (const c of from.children) if (c.id) keep.set(c.id, c);
  let at = from.firstChild;
  for (const next of [...to.childNodes]) {
    const byId = next.id ? keep.get(next.id) : null;
    let match = byId;
    if (!match && at && sameKind(at, next) && !(at.id && at.id !== next.id)) match = at;
    if (!match) {
      from.insertBefore(next, at);
      continue;
    }
    if (match !== at) from.insertBefore(match, at);
    else at = at.nextSibling;
    if (match.nodeType === Node.ELEMENT_NODE) morph(match, next);
    else if (match.nodeValue !== next.nodeValue) match.nodeValue = next.nodeValue;
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function sameKind(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
}

function attributes(from, to) {
  const mine = new Set(["open"]);
  if (from.matches("input,textarea,select")) mine.add("value").add("checked");
  for (const a of [...from.attributes]) {
    if (!to.hasAttribute(a.name) && !mine.has(a.name) && !a.name.startsWith("data-js")) from.removeAttribute(a.name);
  }
  for (const a of to.attributes) {
    if (from.getAttribute(a.name) !== a.value && !(mine.has(a.name) && from.matches("input,textarea,select"))) {
      from.setAttribute(a.name, a.value);
    }
  }
}
