import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { HOSTILE, PASS, launch, open, shot, start, until, words } from "./witan.mjs";
import { amber, contrast, overflow, small } from "./look.mjs";

let witan, browser, signedIn;

before(async () => {
  witan = await start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await witan?.stop();
});

const window_ = (options) => open(browser, witan.base, { storageState: signedIn, ...options });

// write says something in a new thread and returns its path.
async function write(page, text, agent = "scribe") {
  await page.goto("/chat?new=1");
  await page.selectOption("select[name=agent]", agent);
  await page.fill("textarea[name=text]", text);
  await page.click("#composer button.p");
  await page.waitForURL(/\/chat\/[0-9a-z]{26}/);
  return new URL(page.url()).pathname;
}

// asked writes something that makes an agent ask, and returns the item's path.
async function asked(page, text) {
  await write(page, text);
  await until(page, "main", /Open in Inbox/);
  return new URL(await page.getAttribute(".askcard .ah a", "href"), witan.base).pathname;
}

test("setup, chat, approve, journal, replay", async () => {
  const w = await open(browser, witan.base);
  const { page } = w;
  await page.goto(witan.link);
  assert.match(await words(page, "h1"), /Claim this instance/);
  assert.match(await words(page, "main"), /What exists now.*Policy.*Where it lives.*Keep a copy of the keys/);
  await shot(page, "setup-light");
  await page.fill("[name=name]", "Mira Kovač");
  await page.fill("[name=signInName]", "mira");
  await page.check("input[name=way][value=password]");
  await page.fill("[name=password]", PASS);
  await page.fill("[name=password2]", PASS);
  await page.click(".claim");
  await page.waitForURL("**/inbox");
  assert.match(await words(page, "main"), /Nothing needs you/);
  await shot(page, "inbox-empty-light");

  const thread = await write(page, "Write a short hello file for the team");
  await page.waitForSelector(".askcard .btn.p");
  assert.match(await words(page, "#live"), /^Live/);
  await shot(page, "chat-ask-light");
  await page.goto("/inbox");
  for (const want of [/Write hello\.md/, /Exact call/, /"hello\.md"/, /What changes/, /\+ added # Hello/, /ASK file\.write/, /bound to call/]) assert.match(await words(page, "#item"), want);
  await shot(page, "inbox-approval-light");
  await page.evaluate(() => document.querySelector("[data-queue]").focus());
  await page.keyboard.press("a");
  await page.waitForSelector("[data-undo]");
  await shot(page, "inbox-undo-light");
  await page.waitForFunction(() => /Confirmed/.test(document.querySelector("#decision").textContent), null, { timeout: 15_000 });
  assert.match(await words(page, "#decision"), /Mira Kovač allowed it once/);
  await shot(page, "inbox-confirmed-light");

  await page.goto(thread);
  await page.waitForSelector(".say.proven");
  assert.match(await words(page, "#talk"), /allowed by Mira Kovač.*confirmed.*I wrote it, as you allowed\..*proven by.*It is a good file\..*Asserted\. No record/);
  await shot(page, "chat-light");

  await page.goto("/inbox");
  await page.click(".qlines a");
  await page.click("text=Replay this decision");
  await page.waitForURL(/\/journal\//);
  assert.match(await words(page, "main"), /Causes and effects.*inbound\.message.*skill\.invoke.*policy\.decision.*approval\.answered/);
  await page.click(".replay button");
  await page.waitForURL(/#replayed$/);
  assert.match(await words(page, ".replay"), /exact, (\d+) of \1 steps byte-equal/);
  await shot(page, "journal-replayed-light");
  await page.goto("/journal");
  await page.click("#chain button");
  await until(page, "#chain", /Chain whole/);
  assert.match(await words(page, "#chain"), /against itself only/);
  signedIn = await w.context.storageState();
  assert.deepEqual(w.errors, []);
  await w.close();
});

test("outside bytes are data, and their way is shown", async () => {
  const w = await window_();
  const { page } = w;
  const path = await asked(page, "read " + witan.page);
  await page.goto(path);
  const item = await words(page, "#item");
  for (const want of [/Where the value came from/, /http\.fetch/, /outside content, start/, /Outside bytes may have written/, /came from outside/]) assert.match(item, want);
  assert.ok(await page.locator(".arg.hatch").count() > 0, "the argument is hatched");
  await shot(page, "inbox-outside-light");
  for (const at of [path, "/chat", "/journal?outside=1"]) {
    await page.goto(at);
    assert.doesNotMatch(await page.title(), /owned/);
    assert.equal(await page.locator("main script, main img").count(), 0, at + " holds markup of a stranger");
  }
  assert.ok(HOSTILE.includes("onerror"));
  await page.goto(path);
  await page.click("#p-deny > summary");
  await page.click("text=Wrong content");
  await page.click("#p-deny button.d");
  await page.waitForFunction(() => /denied it/.test(document.querySelector("#decision").textContent));
  assert.deepEqual(w.errors, []);
  await w.close();
});

test("an answer elsewhere puts the buttons off; a stale press changes nothing", async () => {
  const one = await window_();
  const two = await window_();
  const path = await asked(one.page, "write elsewhere.md");
  await one.page.goto(path);
  await two.page.goto(path);
  await one.page.mouse.move(900, 400); // inside the card: it may not be redrawn
  const digest = await two.page.inputValue(".allow input[name=digest]");
  await two.page.click("#p-edit > summary");
  await two.page.fill("[name='arg.path']", "other.md");
  await two.page.click("#p-edit button.p");
  await two.page.waitForFunction(() => /"other\.md"/.test(document.querySelector("#item").textContent));
  await one.page.waitForSelector("[data-pill=item]:not([hidden])");
  assert.ok(await one.page.evaluate(() => [...document.querySelectorAll("#decision button")].every((b) => b.disabled)), "the buttons are off");
  await shot(one.page, "inbox-elsewhere-light");
  const stale = await one.page.request.post(path + "/answer", { form: { answer: "allow", digest, version: "1" }, headers: { Origin: witan.base } });
  assert.equal(stale.status(), 409);
  assert.match(await stale.text(), /Not answered\. The call is another one now/);
  await one.page.reload();
  await one.page.evaluate(() => document.querySelector("[data-queue]").focus());
  await one.page.keyboard.press("d");
  await one.page.keyboard.type("not that either");
  await one.page.keyboard.press("Control+Enter");
  await one.page.waitForFunction(() => /denied it/.test(document.querySelector("#decision").textContent));
  assert.deepEqual(one.errors.concat(two.errors), []);
  await one.close();
  await two.close();
});

test("every decision works without scripts", async () => {
  const w = await open(browser, witan.base, { javaScriptEnabled: false });
  const { page } = w;
  await page.goto("/chat");
  assert.match(page.url(), /signin/);
  await page.fill("[name=signInName]", "mira");
  await page.fill("[name=password]", "a wrong pass phrase");
  await page.click("main form button >> nth=-1");
  assert.match(await words(page, "main"), /That pair is wrong/);
  await page.fill("[name=password]", PASS);
  await page.click("main form button >> nth=-1");
  await page.waitForURL("**/chat");

  let path = await asked(page, "write first.md");
  await page.goto(path);
  await page.click(".allow button");
  assert.match(await words(page, "#decision"), /Undo/);
  await page.click("[data-undo] button");
  assert.match(await words(page, "#decision"), /Allow once/);
  await page.click("#p-scope > summary");
  await page.fill("#p-scope [name=target]", "other-*");
  await page.click("text=Read it back");
  assert.match(await words(page, "#p-scope"), /does not cover the call/);
  await page.fill("#p-scope [name=target]", "*.md");
  await page.click("text=Read it back");
  assert.match(await words(page, "#readback"), /scribe may call file\.write on \*\.md 5 times/);
  await shot(page, "inbox-grant-light");
  await page.click("#p-scope button.p");
  assert.match(await words(page, "#decision"), /Undo|allowed it within a scope/);
  await until(page, "#decision", /Confirmed/);

  path = await asked(page, "read " + witan.page + "?again");
  await page.goto(path);
  await page.click("#p-edit > summary");
  await page.fill("[name='arg.expect']", "neither");
  await page.click("#p-edit button.p");
  assert.ok(await page.locator("#p-edit [aria-invalid=true]").count() === 1, "the refused field is named");
  await page.fill("[name='arg.expect']", "new");
  await page.fill("[name='arg.text']", "a better line\n");
  await page.click("#p-edit button.p");
  assert.match(await words(page, "#item"), /edited by a person.*\+ added a better line/);
  await page.click("#p-deny > summary");
  await page.fill("#p-deny textarea", "no longer wanted");
  await page.click("#p-deny button.d");
  assert.match(await words(page, "#decision"), /denied it/);

  await page.click("[data-halt] > summary");
  await page.click("[data-halt] button");
  assert.match(await words(page, "#banner"), /All stopped/);
  await shot(page, "halted-light");
  await page.click("text=Resume >> nth=0");
  await page.click(".top form button >> nth=-1");
  assert.doesNotMatch(await words(page, "body"), /All stopped/);
  await page.goto("/journal");
  await page.click("#chain button");
  await until(page, "#chain", /Chain whole/);
  await page.click("details.me > summary");
  await page.click("text=Dark");
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  await page.click("details.me > summary");
  await page.click("button:has-text('Sign out')");
  assert.match(page.url(), /signin/);
  await w.close();
});

test("pages fit, can be read and keep amber for who is needed", async () => {
  const wide = await window_();
  const open_ = await asked(wide.page, "read " + witan.page + "?shape");
  await wide.page.goto("/journal?type=approval.answered");
  const decision = new URL(await wide.page.getAttribute("#events a", "href"), witan.base).pathname;
  const thread = await (async () => { await wide.page.goto("/chat"); return new URL(await wide.page.getAttribute("#threads a", "href"), witan.base).pathname; })();
  await wide.page.goto("/inbox");
  const done = open_;
  await wide.close();
  const bad = [];
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [320, 390, 1440]) {
      const w = await window_({ viewport: { width, height: width > 900 ? 900 : 800 }, colorScheme });
      for (const [name, path] of Object.entries({ inbox: "/inbox", item: done, chat: "/chat", new: "/chat?new=1", thread, journal: "/journal", event: decision, search: "/search?q=a", none: "/nowhere" })) {
        await w.page.goto(path, { waitUntil: "load" });
        const at = `${name} ${width} ${colorScheme}`;
        for (const [what, f] of Object.entries({ overflow, contrast, small })) {
          for (const one of await f(w.page)) bad.push(`${at}: ${what}: ${one}`);
        }
        const a = await amber(w.page);
        assert.ok(a.tones > 0);
        for (const one of a.out) bad.push(`${at}: amber: ${one}`);
        if (width !== 320) await shot(w.page, `${width}-${name}-${colorScheme}`);
      }
      bad.push(...w.errors.map((e) => `${width} ${colorScheme}: ${e}`));
      await w.close();
      const out = await open(browser, witan.base, { viewport: { width, height: 800 }, colorScheme });
      for (const path of ["/signin", "/setup?code=none", "/reset?code=none"]) {
        await out.page.goto(path);
        for (const f of [overflow, contrast]) for (const one of await f(out.page)) bad.push(`${path} ${width} ${colorScheme}: ${one}`);
        if (width !== 320 && path === "/signin") await shot(out.page, `${width}-signin-${colorScheme}`);
      }
      await out.close();
    }
  }
  assert.deepEqual(bad, []);
});

test("a passkey makes the owner and signs in again", async () => {
  const fresh = await start();
  try {
    const w = await open(browser, fresh.base);
    const { page } = w;
    const cdp = await w.context.newCDPSession(page);
    await cdp.send("WebAuthn.enable");
    await cdp.send("WebAuthn.addVirtualAuthenticator", { options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
    await page.goto(fresh.link);
    await page.fill("[name=name]", "Ada");
    await page.fill("[name=signInName]", "ada");
    await page.check("input[name=way][value=passkey]");
    await page.click(".claim");
    await page.waitForURL("**/inbox");
    await page.click("details.me > summary");
    await page.click("button:has-text('Sign out')");
    await page.waitForURL("**/signin*");
    await page.click("[data-passkey=login]");
    await page.waitForURL("**/inbox");
    assert.match(await words(page, "nav"), /Ada/);
    assert.deepEqual(w.errors, []);
    await w.close();
  } finally {
    await fresh.stop();
  }
});
