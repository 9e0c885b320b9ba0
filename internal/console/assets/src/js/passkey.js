// Passkeys. The wire is JSON to /auth/passkey/{register,login,stepup}/{begin,finish};
// begin answers {publicKey: options}, finish takes the credential and answers
// {redirect} or, for a step-up, {token}. Where a passkey cannot be, the password is.
const can = () => window.isSecureContext && !!window.PublicKeyCredential;

export function startPasskeys() {
  if (!can()) {
    for (const el of document.querySelectorAll("[data-passkey-choice]")) el.hidden = true;
    return;
  }
  for (const el of document.querySelectorAll("[data-passkey-part]")) el.hidden = false;
  for (const el of document.querySelectorAll("[data-noscript]")) el.hidden = true;
  document.addEventListener("witan:drawn", () => {
    for (const el of document.querySelectorAll("[data-noscript]")) el.hidden = true;
  });
  document.querySelector('[data-passkey="login"]')?.addEventListener("click", (e) => login(e.currentTarget));
  const setup = document.querySelector('[data-passkey-form="register"]');
  if (setup) setupForm(setup);
  document.addEventListener("submit", (e) => {
    if (e.target.matches("form[data-stepup]") && !e.target.elements.stepup?.value && !e.target.elements.password?.value) stepUp(e);
  }, true);
}

async function login(button) {
  await guarded(button, async () => {
    const opts = await post("/auth/passkey/login/begin", { back: button.dataset.back || "" });
    const cred = await navigator.credentials.get({ publicKey: requestOptions(opts.publicKey) });
    const done = await post("/auth/passkey/login/finish", { credential: credJSON(cred), back: button.dataset.back || "" });
    location.assign(done.redirect || "/inbox");
  });
}

function setupForm(form) {
  const part = form.querySelector("[data-password-part]");
  const draw = () => { part.hidden = form.elements.way.value === "passkey"; };
  const choice = form.querySelector("[data-passkey-choice] input");
  if (choice) choice.checked = true;
  draw();
  form.addEventListener("change", draw);
  form.addEventListener("submit", (e) => {
    if (form.elements.way.value !== "passkey") return;
    e.preventDefault();
    guarded(form.querySelector(".claim"), async () => {
      const f = form.elements;
      const who = { code: f.code.value, name: f.name.value, signInName: f.signInName.value };
      const opts = await post("/auth/passkey/register/begin", who);
      const cred = await navigator.credentials.create({ publicKey: creationOptions(opts.publicKey) });
      const done = await post("/auth/passkey/register/finish", { ...who, credential: credJSON(cred) });
      location.assign(done.redirect || "/inbox");
    });
  });
}

function stepUp(e) {
  const form = e.target;
  e.preventDefault();
  e.stopImmediatePropagation();
  const button = e.submitter || form.querySelector("button");
  guarded(button, async () => {
    const f = form.elements;
    const opts = await post("/auth/passkey/stepup/begin", { approval: form.dataset.approval, digest: f.digest.value });
    const cred = await navigator.credentials.get({ publicKey: requestOptions(opts.publicKey) });
    const done = await post("/auth/passkey/stepup/finish", { credential: credJSON(cred), approval: form.dataset.approval });
    f.stepup.value = done.token;
    form.requestSubmit(button);
  }, () => {
    // A person without a passkey at hand answers with the password instead.
    const field = form.querySelector("[data-noscript]");
    if (field) { field.hidden = false; field.querySelector("input").focus(); }
  });
}

async function guarded(button, work, otherwise) {
  const box = document.querySelector("[data-passkey-error]");
  if (box) box.hidden = true;
  button.disabled = true;
  try {
    await work();
  } catch (err) {
    const text = err.name === "NotAllowedError" ? "The passkey was not given. Nothing was done." : err.message;
    if (box) { box.textContent = text; box.hidden = false; }
    otherwise?.();
  } finally {
    button.disabled = false;
  }
}

async function post(path, body) {
  const res = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    credentials: "same-origin",
    body: JSON.stringify(body),
  });
  const out = await res.json().catch(() => ({}));
  if (!res.ok) throw new Error(out.detail || out.title || "Refused.");
  return out;
}

const bytes = (s) => Uint8Array.from(atob(s.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const text = (b) => btoa(String.fromCharCode(...new Uint8Array(b))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const ids = (list) => list?.map((c) => ({ ...c, id: bytes(c.id) }));

function creationOptions(o) {
  return { ...o, challenge: bytes(o.challenge), user: { ...o.user, id: bytes(o.user.id) }, excludeCredentials: ids(o.excludeCredentials) };
}

function requestOptions(o) {
  return { ...o, challenge: bytes(o.challenge), allowCredentials: ids(o.allowCredentials) };
}

function credJSON(c) {
  const r = c.response;
  const response = { clientDataJSON: text(r.clientDataJSON) };
  if (r.attestationObject) {
    response.attestationObject = text(r.attestationObject);
    response.transports = r.getTransports?.() || [];
  } else {
    response.authenticatorData = text(r.authenticatorData);
    response.signature = text(r.signature);
    if (r.userHandle) response.userHandle = text(r.userHandle);
  }
  return {
    id: c.id,
    rawId: text(c.rawId),
    type: c.type,
    authenticatorAttachment: c.authenticatorAttachment || undefined,
    clientExtensionResults: c.getClientExtensionResults(),
    response,
  };
}
