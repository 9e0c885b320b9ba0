package builtin_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/builtin"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store/storetest"
)

// bench runs built-in skills as the executor does: schema, act, commit, schema.
type bench struct {
	*storetest.DB
	regs  map[string]skill.Registration
	agent event.Origin
	call  skill.Call // what every call has
}

func setup(t *testing.T, c builtin.Config) *bench {
	t.Helper()
	b := &bench{DB: storetest.OpenSQLite(t), regs: map[string]skill.Registration{},
		agent: storetest.Origin(t, event.LayerAgent, event.ClassAgent, "agent/coordinator", "skill.invoke")}
	c.Journal = b.Journal
	regs, err := builtin.Registrations(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := skill.NewRegistry(regs...); err != nil {
		t.Fatal(err)
	}
	for _, r := range regs {
		b.regs[r.Manifest.Name] = r
	}
	b.call = skill.Call{Account: b.Account, Run: b.IDs.New(), Step: 1, Attempt: 1, Fence: 1, Key: "0123456789abcdef0123456789abcdef", Actor: "agent:coordinator",
		Requester: "person:p1", Recipient: "person:p1", Channel: "console", Label: label(event.House), Stream: b.IDs.New(), Subject: b.IDs.New(), Now: b.Clock.Now()}
	return b
}

func label(i event.Integrity, who ...string) event.Label {
	if len(who) == 0 {
		return event.NewLabel(i, event.AccountWide())
	}
	return event.NewLabel(i, event.Only(who...))
}

// run carries out one call and returns its recorded output and label.
func (b *bench) run(t *testing.T, name string, args any, change ...func(*skill.Call)) (map[string]any, event.Label, error) {
	t.Helper()
	r, ok := b.regs[name]
	if !ok {
		t.Fatalf("no skill %s", name)
	}
	c := b.call
	for _, f := range change {
		f(&c)
	}
	raw, err := canon.JSON(args)
	if err != nil {
		t.Fatal(err)
	}
	contract, err := r.Manifest.Contract()
	if err != nil {
		t.Fatal(err)
	}
	if err := contract.CheckInput(raw); err != nil {
		return nil, event.Label{}, err
	}
	c.Arguments = raw
	c = c.Under(r.Manifest)
	out, err := r.Exec.Act(t.Context(), c)
	if err != nil {
		return nil, event.Label{}, err
	}
	if out.Commit != nil {
		if err := b.Journal.Do(context.Background(), b.Account, func(tx event.Tx) error {
			e, err := tx.Emit(b.agent, event.Draft{Payload: event.SkillInvoke{CallID: "c", Skill: name}, Label: c.Label, Stream: c.Stream})
			if err != nil {
				return err
			}
			c.Cause = e.Ref()
			again, err := r.Exec.Act(t.Context(), c) // the cause is only known now
			if err != nil {
				return err
			}
			out = again
			return out.Commit(tx)
		}); err != nil {
			return nil, event.Label{}, err
		}
	}
	value, err := json.Marshal(out.Value)
	if err != nil {
		t.Fatal(err)
	}
	if err := contract.CheckOutput(value); err != nil {
		t.Fatalf("%s breaks its output schema: %v\n%s", name, err, value)
	}
	var m map[string]any
	if err := json.Unmarshal(value, &m); err != nil {
		t.Fatal(err)
	}
	return m, out.Label, nil
}

func wantKind(t *testing.T, err error, k fault.Kind) {
	t.Helper()
	if !fault.Is(err, k) {
		t.Errorf("error %v, want kind %s", err, k)
	}
}

func TestEveryManifestIsStrictAndHonest(t *testing.T) {
	t.Parallel()
	all, err := builtin.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 16 {
		t.Errorf("%d manifests", len(all))
	}
	for _, m := range all {
		var in struct {
			Additional *bool `json:"additionalProperties"`
		}
		if err := json.Unmarshal(m.Input, &in); err != nil || in.Additional == nil || *in.Additional {
			t.Errorf("%s takes arguments that it does not name", m.Name)
		}
		if m.Output == nil || m.Title == "" || m.Kind != manifest.Builtin {
			t.Errorf("%s lacks an output schema, a title or its kind", m.Name)
		}
		if (m.Access == manifest.Read) != (m.Class == manifest.ClassRead) {
			t.Errorf("%s has access %s and class %s", m.Name, m.Access, m.Class)
		}
		if m.Access != manifest.Read && m.Risk == manifest.RiskNone {
			t.Errorf("%s changes something at no risk", m.Name)
		}
		if m.Name == "http.fetch" != (m.OutputLabel == "outside") {
			t.Errorf("%s enters as %s", m.Name, m.OutputLabel)
		}
	}
}

func TestTitlesSayWhatHappens(t *testing.T) {
	t.Parallel()
	all, err := builtin.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string][2]string{
		"file.write":   {`{"path":"a/b.txt","text":"1\n2\n3","expect":"new"}`, "Write a/b.txt, 3 lines"},
		"pano.write":   {`{"path":"c.md","text":"x","revision":0}`, "Write document c.md, 1 line"},
		"message.send": {`{"channel":"email","to":"a@b.example","text":"x\ny"}`, "Send 2 lines to a@b.example on email"},
		"reminder.set": {`{"at":"2026-12-04T14:30:00Z","text":"call"}`, "Remind at 2026-12-04T14:30:00Z: call"},
		"http.fetch":   {`{"url":"https://a.example/"}`, "Fetch https://a.example/"},
	} {
		for _, m := range all {
			if m.Name == name {
				if got := m.RenderTitle([]byte(w[0])); got != w[1] {
					t.Errorf("%s: %q, want %q", name, got, w[1])
				}
			}
		}
	}
}

func TestASkillWithoutItsPortIsNotOffered(t *testing.T) {
	t.Parallel()
	b := setup(t, builtin.Config{})
	if len(b.regs) != 1 || b.regs["time.now"].Exec == nil {
		t.Errorf("%d skills without any port", len(b.regs))
	}
	if _, err := builtin.Registrations(builtin.Config{}); err == nil {
		t.Error("no journal is no error")
	}
}

func TestAnUndeclaredPermissionIsDenied(t *testing.T) {
	t.Parallel()
	f, err := builtin.OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := setup(t, builtin.Config{Documents: docs{}, Memory: &mind{}, Reminders: &calendar{}, Sender: &outbox{}, Inbox: inbox{}, Files: f, Fetcher: builtin.NewFetcher(builtin.FetcherConfig{})})
	if len(b.regs) != 16 {
		t.Fatalf("%d skills", len(b.regs))
	}
	for name, r := range b.regs {
		if len(r.Manifest.Permissions) == 0 {
			continue
		}
		c := b.call
		c.Arguments = json.RawMessage(`{}`)
		if _, err := r.Exec.Act(t.Context(), c); !fault.Is(err, fault.Denied) {
			t.Errorf("%s acts without its permission: %v", name, err)
		}
	}
}

func TestTheTimeIsThatOfTheAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, builtin.Config{})
	b.Clock.Advance(1e9) // the wall clock goes on, the recorded time does not
	got, _, err := b.run(t, "time.now", map[string]any{"zone": "Asia/Tokyo"})
	if err != nil || got["utc"] != "2026-03-01T09:00:00Z" || got["local"] != "2026-03-01T18:00:00+09:00" || got["weekday"] != "Sunday" {
		t.Errorf("%v %v", got, err)
	}
	for _, zone := range []string{"Local", "../etc/passwd", "Mars/Base"} {
		_, _, err := b.run(t, "time.now", map[string]any{"zone": zone})
		wantKind(t, err, fault.Invalid)
	}
	if got, _, err = b.run(t, "time.now", map[string]any{}); err != nil || got["zone"] != "UTC" {
		t.Errorf("%v %v", got, err)
	}
}

// docs is a set of documents that does not change.
type docs map[string]builtin.Document

func (d docs) ReadDocument(_ event.Tx, path string, _ int64, who []string) (builtin.Document, error) {
	doc, ok := d[path]
	if !ok || !doc.Label.Audience().Includes(event.Only(who...)) {
		return builtin.Document{}, fault.New(fault.NotFound, "no document")
	}
	return doc, nil
}

func (d docs) WriteDocument(tx event.Tx, w builtin.DocumentDraft, cause event.Ref) (builtin.Document, error) {
	if d[w.Path].Revision != w.Seen {
		return builtin.Document{}, fault.New(fault.Conflict, "it moved on")
	}
	return builtin.Document{Path: w.Path, Revision: w.Seen + 1, Text: w.Text, By: w.By, At: tx.Now(), Subject: w.Subject, Label: cause.Label}, nil
}

func (d docs) ListDocuments(_ event.Tx, _, _ string, _ int, _ []string) (out []builtin.Document, err error) {
	for _, x := range d {
		out = append(out, x)
	}
	return out, nil
}

func (d docs) SearchDocuments(_ event.Tx, _ string, _ int, _ []string) (out []builtin.DocumentMatch, err error) {
	for _, x := range d {
		out = append(out, builtin.DocumentMatch{Document: x, Words: 1, Times: 2, Excerpt: x.Text})
	}
	return out, nil
}

func TestWhatIsReadCarriesItsLabel(t *testing.T) {
	t.Parallel()
	d := docs{"a.md": {Path: "a.md", Revision: 2, Text: "hello", Label: label(event.Outside)}, "b.md": {Path: "b.md", Revision: 1, Label: label(event.House, "person:p1", "agent:coordinator")}}
	b := setup(t, builtin.Config{Documents: d})
	got, l, err := b.run(t, "pano.read", map[string]any{"path": "a.md"})
	if err != nil || got["text"] != "hello" || got["revision"] != 2.0 || l.String() != "o:a" {
		t.Errorf("%v with label %s: %v", got, l, err)
	}
	_, _, err = b.run(t, "pano.read", map[string]any{"path": "b.md"}, func(c *skill.Call) { c.Recipient = "person:p2" })
	wantKind(t, err, fault.NotFound)
	for _, name := range []string{"pano.list", "pano.search"} {
		args := map[string]any{}
		if name == "pano.search" {
			args["query"] = "x"
		}
		if _, l, err := b.run(t, name, args); err != nil || l.String() != "o:=agent:coordinator,person:p1" {
			t.Errorf("%s has label %s: %v", name, l, err)
		}
	}
	if got, _, err = b.run(t, "pano.write", map[string]any{"path": "a.md", "text": "x", "revision": 2}); err != nil || got["revision"] != 3.0 || got["by"] != "agent:coordinator" {
		t.Errorf("%v: %v", got, err)
	}
	_, _, err = b.run(t, "pano.write", map[string]any{"path": "a.md", "text": "x", "revision": 1})
	wantKind(t, err, fault.Conflict)
}

// mind is a memory that keeps what it was asked.
type mind struct {
	stored    builtin.NewMemory
	asked     builtin.MemoryQuery
	retrieved int
}

func (m *mind) Remember(tx event.Tx, n builtin.NewMemory, _ event.Ref) (id.ID, error) {
	m.stored = n
	return tx.NewID(), nil
}

func (m *mind) Recall(_ event.Tx, q builtin.MemoryQuery) (builtin.Recalled, error) {
	m.asked = q
	return builtin.Recalled{Ranking: "r", Hits: []builtin.MemoryHit{
		{Title: "t", Body: "b", Label: label(event.Known), Score: 2_636_123, BM25: 2_400_000},
		{Title: "u", Label: label(event.Outside, "person:p1")},
	}}, nil
}

func (m *mind) Retrieved(_ event.Tx, _ builtin.MemoryQuery, r builtin.Recalled, _ string, _, _ id.ID, _ event.Ref) error {
	m.retrieved = len(r.Hits)
	return nil
}

func (m *mind) Scopes(_ event.Tx, actor string, w id.ID) ([]string, error) {
	if actor != "agent:coordinator" {
		return nil, nil
	}
	out := []string{"agent:coordinator", "account"}
	if !w.IsZero() {
		out = append([]string{"workspace:" + w.String()}, out...)
	}
	return out, nil
}

func TestMemoriesGoWhereTheAgentMayWrite(t *testing.T) {
	t.Parallel()
	m := &mind{}
	b := setup(t, builtin.Config{Memory: m})
	got, _, err := b.run(t, "memory.remember", map[string]any{"text": "x", "importance": "high", "known": "inferred", "scope": "account"})
	if err != nil || got["scope"] != "account" || m.stored.Importance != 850_000 || m.stored.Source != "agent:coordinator" || m.stored.Subject != b.call.Subject {
		t.Errorf("%v %+v: %v", got, m.stored, err)
	}
	if _, _, err = b.run(t, "memory.remember", map[string]any{"text": "x"}); err != nil || m.stored.Scope != "agent:coordinator" || m.stored.Source != "person:p1" {
		t.Errorf("%+v: %v", m.stored, err)
	}
	for name, change := range map[string]func(*skill.Call){"no workspace": func(*skill.Call) {}, "a stranger": func(c *skill.Call) { c.Actor = "agent:x" }} {
		_, _, err = b.run(t, "memory.remember", map[string]any{"text": "x", "scope": "workspace"}, change)
		if !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, l, err := b.run(t, "memory.recall", map[string]any{"query": "q"})
	hits, _ := got["hits"].([]any)
	if err != nil || len(hits) != 2 || m.retrieved != 2 || l.String() != "o:=person:p1" || len(m.asked.Scopes) != 2 || len(m.asked.Readers) != 2 {
		t.Fatalf("%v with label %s, asked %+v: %v", got, l, m.asked, err)
	}
	if first := hits[0].(map[string]any); first["score"] != "2.64" || first["text"] != "b" {
		t.Errorf("%v", first)
	}
}

// calendar keeps the last reminder.
type calendar struct{ last builtin.Reminder }

func (c *calendar) SetReminder(tx event.Tx, r builtin.Reminder, _ event.Ref) (builtin.Reminder, error) {
	r.ID = tx.NewID()
	c.last = r
	return r, nil
}

func (c *calendar) ListReminders(_ event.Tx, who string) ([]builtin.Reminder, error) {
	return []builtin.Reminder{{Text: who, Label: label(event.Known)}}, nil
}

func (c *calendar) CancelReminder(_ event.Tx, _ id.ID, who, _ string, _ event.Ref) (builtin.Reminder, error) {
	if who != c.last.Requester {
		return builtin.Reminder{}, fault.New(fault.NotFound, "no reminder")
	}
	return c.last, nil
}

func TestRemindersBelongToTheRequester(t *testing.T) {
	t.Parallel()
	c := &calendar{}
	b := setup(t, builtin.Config{Reminders: c})
	got, _, err := b.run(t, "reminder.set", map[string]any{"at": "2026-12-04T14:30:00+01:00", "text": "call"})
	if err != nil || got["at"] != "2026-12-04T13:30:00Z" || c.last.Thread != b.call.Stream || c.last.Run != b.call.Run || c.last.Requester != "person:p1" {
		t.Errorf("%v %+v: %v", got, c.last, err)
	}
	_, _, err = b.run(t, "reminder.set", map[string]any{"at": "tomorrow at nine o'clock", "text": "call"})
	wantKind(t, err, fault.Invalid)
	if _, l, err := b.run(t, "reminder.list", map[string]any{}); err != nil || l.String() != "k:a" {
		t.Errorf("label %s: %v", l, err)
	}
	if _, _, err = b.run(t, "reminder.cancel", map[string]any{"id": c.last.ID.String()}); err != nil {
		t.Error(err)
	}
	_, _, err = b.run(t, "reminder.cancel", map[string]any{"id": c.last.ID.String()}, func(c *skill.Call) { c.Requester = "person:p2" })
	wantKind(t, err, fault.NotFound)
}

// outbox keeps the last message.
type outbox struct{ last builtin.Message }

func (o *outbox) Send(tx event.Tx, m builtin.Message, _ event.Ref) (builtin.Sent, error) {
	o.last = m
	if m.Channel == "closed" {
		return builtin.Sent{State: "blocked", Reason: "filter"}, nil
	}
	return builtin.Sent{MessageID: tx.NewID(), ThreadID: tx.NewID(), State: "queued"}, nil
}

func TestMessagesNameTheirReader(t *testing.T) {
	t.Parallel()
	o := &outbox{}
	b := setup(t, builtin.Config{Sender: o})
	who := b.IDs.New()
	for to, ok := range map[string]func() bool{
		"contact:" + who.String(): func() bool { return o.last.ContactID == who && o.last.Address == "" },
		"person:" + who.String():  func() bool { return o.last.PersonID == who && o.last.Address == "" },
		"a@b.example":             func() bool { return o.last.Address == "a@b.example" && o.last.ContactID.IsZero() },
	} {
		got, _, err := b.run(t, "message.send", map[string]any{"channel": "email", "to": to, "text": "x"})
		if err != nil || got["state"] != "queued" || !ok() || o.last.Key != "skill."+b.call.Key || o.last.Agent != "coordinator" {
			t.Errorf("%s: %v %+v: %v", to, got, o.last, err)
		}
	}
	_, _, err := b.run(t, "message.send", map[string]any{"channel": "email", "to": "person:me", "text": "x"})
	wantKind(t, err, fault.Invalid)
	if got, _, err := b.run(t, "message.send", map[string]any{"channel": "closed", "to": "a", "text": "x"}); err != nil || got["state"] != "blocked" || got["reason"] != "filter" {
		t.Errorf("%v: %v", got, err)
	}
}

type inbox struct{}

func (inbox) Waiting(_ event.Tx, who string) ([]builtin.Item, error) {
	return []builtin.Item{{Key: "AP-1", Kind: "approval", Title: who, Label: label(event.Outside)}}, nil
}

func TestWhatWaitsIsToldToTheRequesterOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, builtin.Config{Inbox: inbox{}})
	got, l, err := b.run(t, "inbox.waiting", map[string]any{})
	if items, _ := got["items"].([]any); err != nil || len(items) != 1 || items[0].(map[string]any)["title"] != "person:p1" || l.String() != "o:a" {
		t.Errorf("%v with label %s: %v", got, l, err)
	}
	_, _, err = b.run(t, "inbox.waiting", map[string]any{}, func(c *skill.Call) { c.Recipient = "contact:x" })
	wantKind(t, err, fault.Denied)
}
