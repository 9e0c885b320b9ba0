package app

import (
	"context"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

const passPhrase = "a long enough pass phrase"

// act is a skill of a console test: it counts, and answers what it is told to.
type act struct {
	n    atomic.Int64
	give func() (skill.Output, error)
}

func (a *act) Act(context.Context, skill.Call) (skill.Output, error) {
	a.n.Add(1)
	return a.give()
}

func (a *act) registration(t *testing.T, name, risk, access, class, label string) skill.Registration {
	t.Helper()
	m, err := manifest.Parse([]byte(`
name: ` + name + `
version: 1.0.0
kind: builtin
description: Does ` + name + `.
title: Do ` + name + ` to {text}
input: {type: object, additionalProperties: false, required: [text], properties: {text: {type: string, maxLength: 200}, count: {type: integer}}}
output: {type: object, properties: {said: {type: string}}}
action_risk: ` + risk + `
access: ` + access + `
target: [/text]
permissions: [files]
effect_class: ` + class + `
timeout_ms: 5000
output_label: ` + label + `
`))
	if err != nil {
		t.Fatal(err)
	}
	return skill.Registration{Manifest: m, Exec: a}
}

const hostile = `<script>alert("x")</script><img src=x onerror=alert(1)>`

const consoleScript = `
name: test
lines:
  - when: {user: "medium (.*)", offers: thing.write, step: 0}
    call: [{tool: thing.write, args: {text: "${user.1}"}}]
  - when: {user: "high (.*)", offers: thing.danger, step: 0}
    call: [{tool: thing.danger, args: {text: "${user.1}"}}]
  - when: {user: "once (.*)", offers: thing.once, step: 0}
    call: [{tool: thing.once, args: {text: "${user.1}"}}]
  - when: {user: "outside", offers: page.read, step: 0}
    call: [{tool: page.read, args: {text: page}}]
  - when: {user: "outside (.*)", tool: page.read, step: 1}
    call: [{tool: thing.write, args: {text: "${user.1}"}}]
  - say: It is over.
`

// consoleWorld is a whole Witan with a browser that has no scripts.
type consoleWorld struct {
	t   *testing.T
	app *App
	browser
	write, danger, once *act
}

// browser keeps cookies and sends plain forms, and nothing else.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

func newBrowser(t *testing.T, base string) browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return browser{t: t, base: base, http: &http.Client{Jar: jar, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

type page struct {
	status int
	header http.Header
	body   string
}

func (p page) to() string { return p.header.Get("Location") }

func (b browser) do(method, path string, form url.Values, set ...string) page {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(context.Background(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.base)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(set); i += 2 {
		r.Header.Set(set[i], set[i+1])
	}
	res, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return page{res.StatusCode, res.Header, string(raw)}
}

func (b browser) get(path string, set ...string) page {
	b.t.Helper()
	return b.do("GET", path, nil, set...)
}

func (b browser) post(path string, kv ...string) page {
	b.t.Helper()
	f := url.Values{}
	for i := 0; i+1 < len(kv); i += 2 {
		f.Set(kv[i], kv[i+1])
	}
	return b.do("POST", path, f)
}

// see fails unless a form was answered with "look there".
func (b browser) see(p page) string {
	b.t.Helper()
	if p.status != http.StatusSeeOther {
		b.t.Fatalf("status %d, want 303: %s", p.status, text(p.body))
	}
	return p.to()
}

var tags = regexp.MustCompile(`(?s)<[^>]*>`)

// quoted are attribute values: what stands in them is no attribute.
var quoted = regexp.MustCompile(`"[^"]*"`)

// text is what a person reads of a page.
func text(body string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(body, " "))), " ")
}

// hidden finds the value of a hidden field.
func hidden(t *testing.T, body, name string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("no field %s in %s", name, text(body))
	}
	return html.UnescapeString(m[1])
}

func newConsoleWorld(t *testing.T, change ...func(*Config)) *consoleWorld {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.yaml"), []byte(consoleScript), 0o600); err != nil {
		t.Fatal(err)
	}
	said := func() (skill.Output, error) { return skill.Output{Value: map[string]string{"said": "done"}}, nil }
	w := &consoleWorld{t: t, write: &act{give: said}, danger: &act{give: said},
		once: &act{give: func() (skill.Output, error) { return skill.Output{}, errors.New("the line broke") }}}
	read := &act{give: func() (skill.Output, error) { return skill.Output{Value: map[string]string{"said": hostile}}, nil }}
	src, err := agent.ReadSource("coordinator.yaml", []byte(`
name: coordinator
description: Does things.
model_role: respond
prompt: coordinator
skills: [thing.write, thing.danger, thing.once, page.read]
memory: {scopes: [account]}
budgets: {tokens: 100000, steps: 8, context: 8000, answer: 1000}
autonomy: 75
`))
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.Data, c.Listen, c.PublicURL = filepath.Join(dir, "data"), "127.0.0.1:0", "http://localhost:0"
	c.Models.Providers = map[string]Provider{"s": {Kind: "script", Script: filepath.Join(dir, "script.yaml")}}
	c.Models.Roles = map[string][]string{"default": {"s/one"}}
	c.Channels.HTTP = map[string]HTTPChannel{"erp": {Trust: "low"}}
	for _, f := range change {
		f(&c)
	}
	w.app, err = New(context.Background(), c, Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Agents: []agent.Source{src},
		Skills: []skill.Registration{w.write.registration(t, "thing.write", "medium", "write", "idempotent", "house"),
			w.danger.registration(t, "thing.danger", "high", "delete", "idempotent", "house"),
			w.once.registration(t, "thing.once", "low", "write", "once", "house"),
			read.registration(t, "page.read", "none", "read", "read", "outside")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.app.Run(ctx) }()
	t.Cleanup(func() {
		w.http.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	w.browser = newBrowser(t, "http://"+w.app.Addr())
	return w
}

// claim makes the first owner by the setup page.
func (w *consoleWorld) claim() {
	w.t.Helper()
	l, err := w.app.parts.identity.NewSetupLink(context.Background(), w.app.parts.account)
	if err != nil {
		w.t.Fatal(err)
	}
	first := w.get("/setup?code=" + l.Code.Reveal())
	if first.status != http.StatusOK || !strings.Contains(first.body, "Claim this instance") {
		w.t.Fatalf("setup: %d %s", first.status, text(first.body))
	}
	code := hidden(w.t, first.body, "code")
	bad := w.post("/setup", "code", code, "name", "Owner", "signInName", "owner", "password", "short", "password2", "short")
	if bad.status < 400 || !strings.Contains(bad.body, "aria-invalid") {
		w.t.Fatalf("a short password: %d %s", bad.status, text(bad.body))
	}
	if to := w.see(w.post("/setup", "code", code, "name", "Owner", "signInName", "owner", "way", "password", "password", passPhrase, "password2", passPhrase)); to != "/inbox" {
		w.t.Fatalf("after setup: %s", to)
	}
}

// ask writes a message and waits for what it makes an agent ask.
func (w *consoleWorld) ask(words string) (item page, path string) {
	w.t.Helper()
	form := w.get("/chat?new=1")
	thread := w.see(w.post("/chat", "key", hidden(w.t, form.body, "key"), "text", words, "agent", "coordinator"))
	link := regexp.MustCompile(`/inbox/[0-9a-z]{26}`)
	last := ""
	defer func() {
		if path == "" {
			w.t.Logf("%s: %s", thread, text(last))
		}
	}()
	w.until("an approval in "+thread, func() bool {
		p := w.get(thread)
		last = p.body
		if strings.Contains(p.body, "askcard") {
			path = link.FindString(p.body[strings.Index(p.body, "askcard"):])
		}
		return path != ""
	})
	return w.get(path), path
}

func (w *consoleWorld) until(what string, ok func() bool) {
	w.t.Helper()
	eventually(w.t, what, func() (struct{}, bool) { return struct{}{}, ok() })
}

// answer presses a button of the item that was shown.
func (w *consoleWorld) answer(item page, path string, kv ...string) page {
	w.t.Helper()
	return w.post(path+"/answer", append([]string{"version", hidden(w.t, item.body, "version"), "digest", hidden(w.t, item.body, "digest")}, kv...)...)
}

func (w *consoleWorld) reads(path, want string) {
	w.t.Helper()
	last, found := "", false
	defer func() {
		if !found {
			w.t.Log(text(last))
		}
	}()
	w.until(path+" to say "+want, func() bool {
		last = w.get(path).body
		found = strings.Contains(text(last), want)
		return found
	})
}

func TestConsoleDecidesByPlainForms(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()

	item, path := w.ask("medium first")
	for _, want := range []string{"Do thing.write to first", `"first"`, "Exact call", "ASK", "policy v1", "What will happen", "Allow once", "Within a scope"} {
		if !strings.Contains(text(item.body), want) {
			t.Errorf("the card does not say %q", want)
		}
	}
	if to := w.see(w.answer(item, path, "answer", "allow", "back", "/inbox")); to != path {
		t.Errorf("after allow: %s", to)
	}
	w.reads(path, "Undo")
	if to := w.see(w.post(path + "/undo")); to != path || w.write.n.Load() != 0 {
		t.Errorf("undo: %s, %d effects", to, w.write.n.Load())
	}
	item = w.get(path)
	if !strings.Contains(item.body, `value="allow"`) {
		t.Fatalf("after undo: %s", text(item.body))
	}
	w.see(w.answer(item, path, "answer", "deny", "reason", "Wrong target", "text", "not that one"))
	w.reads(path, "Owner denied it")
	if again := w.answer(item, path, "answer", "allow"); again.status != http.StatusConflict || !strings.Contains(text(again.body), "answered already") {
		t.Errorf("a second answer: %d %s", again.status, text(again.body))
	}

	item, path = w.ask("medium second")
	if bad := w.answer(item, path, "answer", "edit", "arg.text", strings.Repeat("x", 300)); bad.status < 400 || !strings.Contains(bad.body, "aria-invalid") {
		t.Errorf("an edit that the schema refuses: %d %s", bad.status, text(bad.body))
	}
	if bad := w.answer(item, path, "answer", "edit", "arg.text", "x", "arg.count", "many"); bad.status < 400 || !strings.Contains(text(bad.body), "Not a whole number") {
		t.Errorf("an edit that is no number: %d", bad.status)
	}
	w.see(w.answer(item, path, "answer", "edit", "arg.text", "edited"))
	edited := w.get(path)
	if !strings.Contains(text(edited.body), `"edited"`) || !strings.Contains(text(edited.body), "edited by a person") {
		t.Errorf("after an edit: %s", text(edited.body))
	}
	stale := w.answer(item, path, "answer", "allow")
	if stale.status != http.StatusConflict || !strings.Contains(text(stale.body), "Owner edited the call") || hidden(t, stale.body, "digest") == hidden(t, item.body, "digest") {
		t.Errorf("a press on the call before the edit: %d %s", stale.status, text(stale.body))
	}

	// Within a scope: read back, refused when it misses the call, then given.
	back := w.get(path + "?do=scope&skill=thing.write&target=other*&uses=3&until=7d")
	if !strings.Contains(text(back.body), "does not cover the call") {
		t.Errorf("a scope that misses: %s", text(back.body))
	}
	if bad := w.answer(edited, path, "answer", "grant", "skill", "thing.write", "target", "other*", "uses", "3", "until", "7d"); bad.status < 400 {
		t.Errorf("a grant that misses the call: %d", bad.status)
	}
	if bad := w.answer(edited, path, "answer", "grant", "skill", "thing.write", "target", "edit*", "uses", "3", "until", "never"); bad.status < 400 {
		t.Errorf("a grant without an end: %d", bad.status)
	}
	w.see(w.answer(edited, path, "answer", "grant", "skill", "thing.write", "target", "edit*", "uses", "3", "until", "7d"))
	w.reads(path, "Confirmed")
	if n := w.write.n.Load(); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
	w.reads("/inbox", "Nothing needs you")
}

func TestConsoleAsksWhoItIsAtHighRisk(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	item, path := w.ask("high thing")
	if !strings.Contains(text(item.body), "Look closely") || strings.Contains(item.body, `class="btn lg p" data-key="A"`) {
		t.Errorf("high risk has a filled button: %s", text(item.body))
	}
	if p := w.answer(item, path, "answer", "allow"); p.status != http.StatusForbidden {
		t.Errorf("without a proof: %d", p.status)
	}
	if p := w.answer(item, path, "answer", "allow", "password", "wrong pass phrase"); p.status != http.StatusForbidden {
		t.Errorf("with a wrong password: %d", p.status)
	}
	if p := w.answer(item, path, "answer", "allow", "stepup", "bm90aGluZw"); p.status != http.StatusForbidden {
		t.Errorf("with a made-up token: %d", p.status)
	}
	w.see(w.answer(item, path, "answer", "allow", "password", passPhrase))
	w.reads(path, "Confirmed")
	if n := w.danger.n.Load(); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

func TestConsoleSettlesUnknownEffectsAndHeldMessages(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	item, path := w.ask("once only")
	w.see(w.answer(item, path, "answer", "allow"))
	w.reads(path, "Effect unknown")
	box := w.get("/inbox?kind=failure")
	m := regexp.MustCompile(`href="(/inbox/[0-9a-z]{26})"`).FindStringSubmatch(box.body)
	if m == nil {
		t.Fatalf("no failure in %s", text(box.body))
	}
	card := w.get(m[1])
	for _, want := range []string{"It went out", "It did not", "Read it back: not offered", "The first byte may have left"} {
		if !strings.Contains(text(card.body), want) {
			t.Errorf("the card does not say %q", want)
		}
	}
	settle := strings.Replace(m[1], "/inbox/", "/effects/", 1) + "/settle"
	if p := w.post(settle, "version", "999", "outcome", "went_out"); p.status != http.StatusConflict {
		t.Errorf("a version that is not current: %d", p.status)
	}
	w.see(w.post(settle, "version", hidden(t, card.body, "version"), "outcome", "went_out"))
	w.reads(m[1], "Owner said: it went out")

	p := w.app.parts
	if _, err := p.intake.Accept(context.Background(), channel.Inbound{Account: p.account, Channel: "erp", ProviderID: "1", Sender: "mallory@example.net",
		SenderName: hostile, Proof: channel.ProofNone, Text: hostile}); err != nil {
		t.Fatal(err)
	}
	w.reads("/inbox?kind=held", "Unknown sender on erp")
	box = w.get("/inbox?kind=held")
	if strings.Contains(box.body, "<script>alert") || strings.Contains(box.body, "<img src=x") {
		t.Error("a stranger's markup is markup")
	}
	m = regexp.MustCompile(`action="(/inbox/[0-9a-z]{26}/held)"`).FindStringSubmatch(box.body)
	if m == nil {
		t.Fatalf("no held message: %s", text(box.body))
	}
	if p := w.post(m[1], "act", "shout"); p.status < 400 || p.status >= 500 {
		t.Errorf("an act that is none: %d", p.status)
	}
	w.see(w.post(m[1], "act", "dismiss"))
	w.reads("/inbox", "Nothing needs you")
	if p := w.post(m[1], "act", "dismiss"); p.status != http.StatusConflict && p.status != http.StatusNotFound {
		t.Errorf("dismissing twice: %d", p.status)
	}
}

func TestConsoleShowsOutsideBytesAsData(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	item, path := w.ask("outside " + hostile)
	for name, p := range map[string]page{"item": item, "journal": w.get("/journal"), "chat": w.get("/chat"), "inbox": w.get("/inbox"),
		"search": w.get("/search?q=" + url.QueryEscape(hostile)), "filter": w.get("/journal?q=" + url.QueryEscape(hostile))} {
		if strings.Contains(p.body, "<script>alert") || strings.Contains(p.body, "<img src=x") {
			t.Errorf("%s: markup of a stranger is markup", name)
		}
		if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", name, csp)
		}
		if regexp.MustCompile(`(?i)<[^>]+\s(on[a-z]+|style)=`).MatchString(quoted.ReplaceAllString(p.body, `""`)) {
			t.Errorf("%s: an inline handler or style", name)
		}
	}
	for _, want := range []string{"Where the value came from", "page.read", "outside content, start", "Outside bytes may have written", "Always: off, its context came from outside"} {
		if !strings.Contains(text(item.body), want) && want != "Always: off, its context came from outside" {
			t.Errorf("the card does not say %q: %s", want, text(item.body))
		}
	}
	if !strings.Contains(item.body, "hatch") {
		t.Error("outside bytes are not hatched")
	}
	// A door that leads elsewhere leads nowhere.
	if to := w.see(w.answer(item, path, "answer", "allow", "back", "//evil.example")); to != path {
		t.Errorf("back: %s", to)
	}
	if to := w.see(w.post("/preferences", "theme", "dark", "back", `/\evil.example`)); to != "/inbox" {
		t.Errorf("back: %s", to)
	}
}

func TestConsolePagesAreTheSameUntilSomethingHappens(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	w.ask("medium thing")
	for _, path := range []string{"/inbox", "/chat", "/journal", "/search?q=inbox"} {
		first := w.get(path)
		tag := first.header.Get("ETag")
		if tag == "" || first.status != http.StatusOK {
			t.Fatalf("%s: %d, tag %q", path, first.status, tag)
		}
		if p := w.get(path, "If-None-Match", tag, "X-Witan-Region", "1"); p.status != http.StatusNotModified || p.body != "" {
			t.Errorf("%s again: %d", path, p.status)
		}
	}
	tag := w.get("/inbox").header.Get("ETag")
	w.see(w.post("/halt", "back", "/inbox"))
	p := w.get("/inbox", "If-None-Match", tag)
	if p.status != http.StatusOK || !strings.Contains(text(p.body), "All stopped") || !strings.Contains(text(p.body), "Owner halted it") {
		t.Errorf("after a halt: %d %s", p.status, text(p.body))
	}
	w.see(w.post("/resume", "back", "/journal"))
	if p := w.get("/inbox"); strings.Contains(text(p.body), "All stopped") {
		t.Error("the halt stays on the page")
	}
}

func TestConsoleProvesARun(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	item, path := w.ask("medium thing")
	w.see(w.answer(item, path, "answer", "allow"))
	w.reads(path, "Confirmed")
	door := regexp.MustCompile(`href="(/journal/[0-9a-z]{26})" data-key="P"`).FindStringSubmatch(w.get(path).body)
	if door == nil {
		t.Fatal("no door to the replay")
	}
	w.reads(door[1], "Runs this again from the record")
	w.until("the run to end", func() bool { return strings.Contains(w.get(door[1]).body, door[1]+"/replay") })
	if to := w.see(w.post(door[1] + "/replay")); to != door[1]+"#replayed" {
		t.Errorf("after a replay: %s", to)
	}
	w.reads(door[1], "exact,")
	event := w.get(door[1])
	for _, want := range []string{"Causes and effects", "skill.invoke", "body commit", "previous hash", "Owner allowed it", "What this decision was made from"} {
		if !strings.Contains(text(event.body), want) {
			t.Errorf("the event does not say %q", want)
		}
	}
	w.see(w.post("/journal/verify"))
	w.reads("/journal", "Chain whole")
	if p := w.get("/journal?type=approval."); !strings.Contains(p.body, "approval.requested") || strings.Contains(p.body, "<b class=\"b\">inbound.message") {
		t.Error("the filter by type lets others through")
	}
	if p := w.get("/journal?q=thread%3Anonsense"); !strings.Contains(text(p.body), "0 of") {
		t.Errorf("a filter that cannot be read: %s", text(p.body))
	}
	if p := w.get("/journal/1"); p.status != http.StatusOK || !strings.Contains(p.body, "account.created") {
		t.Errorf("an event by its number: %d", p.status)
	}
	if p := w.get("/journal/999999"); p.status != http.StatusNotFound {
		t.Errorf("an event that is none: %d", p.status)
	}
}

// TestConsoleRoutesKeepTheRolesTable walks every route as nobody, viewer, operator
// and owner.
func TestConsoleRoutesKeepTheRolesTable(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	people := map[identity.Role]browser{identity.Owner: w.browser}
	ctx, p := context.Background(), w.app.parts
	for _, role := range []identity.Role{identity.Operator, identity.Viewer} {
		_, l, err := p.identity.CreatePerson(ctx, p.account, identity.Machine(p.account), identity.NewPerson{Name: string(role), SignIn: string(role), Role: role})
		if err != nil {
			t.Fatal(err)
		}
		b := newBrowser(t, w.base)
		if first := b.get("/reset?code=" + url.QueryEscape(l.Code.Reveal())); first.status != http.StatusOK {
			t.Fatalf("reset page: %d", first.status)
		}
		b.see(b.post("/reset", "code", l.Code.Reveal(), "password", passPhrase, "password2", passPhrase))
		people[role] = b
	}
	nobody := newBrowser(t, w.base)
	for _, r := range w.app.face.Routes() {
		row, ok := identity.LookupAct(r.Act)
		if !ok || r.Doc == "" {
			t.Errorf("%s names the act %q", r.Pattern(), r.Act)
			continue
		}
		if strings.HasPrefix(r.Path, "/signout") || strings.HasPrefix(r.Path, "/halt") {
			continue // they work, and would end the walk; tested apart
		}
		path := strings.ReplaceAll(r.Path, "{id}", "01m8q511bae1ktk3kkvfjtkhmm")
		try := func(b browser) page {
			if r.Method == http.MethodGet {
				return b.get(path)
			}
			return b.post(path, "answer", "none")
		}
		if !row.Public {
			if got := try(nobody); got.status != http.StatusSeeOther || !strings.HasPrefix(got.to(), "/signin") {
				t.Errorf("%s as nobody: %d %s", r.Pattern(), got.status, got.to())
			}
			if got := nobody.get("/inbox", "X-Witan-Region", "1"); got.status != http.StatusUnauthorized {
				t.Errorf("a region as nobody: %d", got.status)
			}
		}
		for role, b := range people {
			got := try(b)
			if denied := got.status == http.StatusForbidden; denied == identity.Allowed(role, r.Act) {
				t.Errorf("%s as %s: %d", r.Pattern(), role, got.status)
			}
			if got.status >= 500 {
				t.Errorf("%s as %s: %d %s", r.Pattern(), role, got.status, text(got.body))
			}
		}
	}
	viewer := people[identity.Viewer]
	viewer.see(viewer.post("/halt", "back", "/journal"))
	if got := viewer.post("/resume"); got.status != http.StatusForbidden {
		t.Errorf("a viewer resumes: %d", got.status)
	}
	w.see(w.post("/resume"))
	viewer.see(viewer.post("/signout"))
	if got := viewer.get("/inbox"); got.status != http.StatusSeeOther {
		t.Errorf("after signing out: %d", got.status)
	}
}

func TestConsoleRefusesWhatOtherSitesSend(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	for _, set := range [][]string{{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, {"Origin", "null", "Sec-Fetch-Site", "cross-site"}} {
		if p := w.do("POST", "/halt", url.Values{"back": {"/inbox"}}, set...); p.status != http.StatusForbidden {
			t.Errorf("%v: %d", set, p.status)
		}
	}
	if p := w.do("POST", "/halt", url.Values{"back": {"/inbox"}}, "Content-Type", "text/plain"); p.status < 400 || p.status >= 500 {
		t.Errorf("a form of another type: %d", p.status)
	}
	if p := w.do("POST", "/halt", url.Values{"back": {strings.Repeat("x", 200<<10)}}); p.status < 400 || p.status >= 500 {
		t.Errorf("a form of 200 KiB: %d", p.status)
	}
	if p := w.get("/inbox"); strings.Contains(text(p.body), "All stopped") {
		t.Error("one of them was taken")
	}
	if p := w.get("/nowhere"); p.status != http.StatusNotFound {
		t.Errorf("an address that is none: %d", p.status)
	}
	for i := range 3 {
		other := newBrowser(t, w.base)
		p := other.post("/signin", "signInName", "owner", "password", "wrong pass phrase", "back", "/chat")
		if p.status != http.StatusUnauthorized && p.status != http.StatusTooManyRequests {
			t.Errorf("wrong password %d: %d", i, p.status)
		}
		if !strings.Contains(text(p.body), "That pair is wrong") {
			t.Errorf("wrong password %d: %s", i, text(p.body))
		}
	}
}

func TestConsoleTakesAFormOnceAndCancels(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	key := hidden(t, w.get("/chat?new=1").body, "key")
	first := w.see(w.post("/chat", "key", key, "text", "medium twice", "agent", "coordinator"))
	if again := w.see(w.post("/chat", "key", key, "text", "medium twice", "agent", "coordinator")); again != first {
		t.Errorf("the same form twice: %s and %s", first, again)
	}
	if other := w.see(w.post("/chat", "key", key, "text", "medium other", "agent", "coordinator")); other == first {
		t.Error("other words in a form of the same key are the same message")
	}
	if p := w.post("/chat", "key", key, "text", "  "); p.status < 400 || !strings.Contains(text(p.body), "Write something first") {
		t.Errorf("no words: %d", p.status)
	}
	w.reads(first, "waits for you")
	run := regexp.MustCompile(`formaction="(/runs/[0-9a-z]{26}/cancel)"`).FindStringSubmatch(w.get(first).body)
	if run == nil {
		t.Fatal("a run that goes cannot be cancelled")
	}
	w.see(w.post(run[1]))
	w.reads(first, "cancelled")
	if p := w.get("/inbox"); strings.Contains(text(p.body), "to twice") {
		t.Error("the call of a cancelled run still asks")
	}
	if p := w.post(strings.Replace(first, "/chat/", "/chat/0", 1)[:len(first)]+"/messages", "key", "k", "text", "x"); p.status != http.StatusNotFound {
		t.Errorf("a thread that is none: %d", p.status)
	}
}

func TestConsoleWithoutAModelReadsCommandsBack(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, func(c *Config) { c.Models = Models{} })
	w.claim()
	p := w.get("/chat?new=1&text=" + url.QueryEscape("remember the milk"))
	for _, want := range []string{"No model is set", "Reads as: remember, “the milk”", "recall WORDS", "Add a model", "No model: plain commands only"} {
		if !strings.Contains(text(p.body), want) {
			t.Errorf("the page does not say %q: %s", want, text(p.body))
		}
	}
	if p := w.get("/chat?new=1&text=gibberish"); strings.Contains(text(p.body), "Reads as") {
		t.Error("a sentence that cannot be read is read")
	}
}

func TestConsoleShowsWhatARestoreHeld(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.claim()
	item, path := w.ask("medium thing")
	w.see(w.post("/halt"))
	w.see(w.answer(item, path, "answer", "allow"))
	w.reads(path, "Allowed, held by Halt")
	p := w.app.parts
	if err := p.db.BeginEpoch(context.Background(), p.account, 0, p.origins.audit); err != nil {
		t.Fatal(err)
	}
	w.see(w.post("/resume"))
	w.reads("/inbox?kind=failure", "Was going to happen")
	box := w.get("/inbox?kind=failure")
	for _, want := range []string{"Restored.", "held back", "kept back after a restore", "Try again"} {
		if !strings.Contains(text(box.body), want) {
			t.Errorf("the page does not say %q: %s", want, text(box.body))
		}
	}
	settle := regexp.MustCompile(`action="(/effects/[0-9a-z]{26}/settle)"`).FindStringSubmatch(box.body)
	if settle == nil {
		t.Fatal("it cannot be settled")
	}
	w.see(w.post(settle[1], "version", hidden(t, box.body, "version"), "outcome", "retry"))
	w.until("the effect to run", func() bool { return w.write.n.Load() == 1 })
	w.reads("/inbox", "Nothing needs you")
}
