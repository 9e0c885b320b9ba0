package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/channel/cli"
	"github.com/witan-run/witan/internal/channel/console"
	"github.com/witan-run/witan/internal/channel/httpin"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/agentdb"
	"github.com/witan-run/witan/internal/store/blob"
	"github.com/witan-run/witan/internal/store/channeldb"
	"github.com/witan-run/witan/internal/store/dispatchdb"
	"github.com/witan-run/witan/internal/store/identitydb"
	"github.com/witan-run/witan/internal/store/llmdb"
	"github.com/witan-run/witan/internal/store/policydb"
	"github.com/witan-run/witan/internal/store/skilldb"
	"github.com/witan-run/witan/internal/store/storetest"
	"github.com/witan-run/witan/internal/store/workdb"
	"github.com/witan-run/witan/internal/work"
)

const (
	publicURL = "http://localhost:7420"
	goodWords = "correct donkey battery"
	signing   = "a secret of the bridge, long enough to sign with"
)

// house is an account with every service on real rows, and its API on a server.
// Only the model is missing: the coordinator answers its plain commands.
type house struct {
	t       testing.TB
	db      *storetest.DB
	account id.ID
	deps    api.Deps
	api     *api.API
	server  *httptest.Server
	log     *safeBuffer
	agents  *agent.Service
	desk    *desk
	origin  event.Origin // of agent, for calls that a test makes
	owner   identity.SignedIn
}

// safeBuffer is a log that several goroutines write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ctx() context.Context { return context.Background() }

// newHouse builds the house; change may bend what the API is made from.
func newHouse(t testing.TB, change ...func(*api.Deps)) *house {
	t.Helper()
	return houseOn(t, storetest.OpenSQLite(t), change...)
}

func houseOn(t testing.TB, db *storetest.DB, change ...func(*api.Deps)) *house {
	t.Helper()
	h := &house{t: t, db: db, log: &safeBuffer{}}
	log := slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	give := func(l event.Layer, c event.Class, source string, types ...event.Type) event.Origin {
		return storetest.Origin(t, l, c, source, types...)
	}
	rows := struct {
		identity *identitydb.Store
		agent    *agentdb.Store
	}{identitydb.New(), agentdb.New()}

	ident := must(identity.New(identity.Options{Journal: db.Journal, Store: rows.identity, Keyring: db.Options.Keyring, Clock: db.Clock, IDs: db.IDs,
		Origins:   identity.Origins{Identity: give(event.LayerDispatch, event.ClassIdentity, "identity", identity.EventTypes()...)},
		PublicURL: publicURL, Hash: identity.HashParams{MemoryKiB: 16, Passes: 1, Lanes: 1}, Log: log}))(t)
	people := peopleOf{rows.identity}
	h.desk = &desk{}
	pol := policy.New(policy.Config{Store: policydb.New(), Journal: db.Journal, People: people,
		Origins: policy.Origins{Policy: give(event.LayerDispatch, event.ClassPolicy, "policy", "policy.decision", "approval.requested", "approval.answered",
			"approval.withdrawn", "approval.closed", "grant.made", "grant.ended", "policy.saved", "autonomy.changed", "halt.set", "halt.cleared")}})
	h.desk.policy = pol
	db.React(storetest.Reactions{{Name: "policy.account", On: []event.Type{"account.created"}, Run: pol.OnAccount}})
	account, _, err := ident.EnsureAccount(ctx(), identity.DefaultHandle, "Halden")
	if err != nil {
		t.Fatal(err)
	}
	h.account = account.ID

	blobs := must(blob.Open(t.TempDir(), db.Clock))(t)
	channels := channeldb.New()
	intake := must(channel.NewIntake(db.Journal, channels, blobs, channel.Origins{
		Channel: give(event.LayerChannel, event.ClassChannel, "channel", "inbound.message", "inbound.event", "channel.changed")}, channel.DefaultCap()))(t)
	bridge := must(httpin.New(httpin.Config{Name: "bridge", Secrets: []secret.String{secret.New(signing)}}, httpin.Guard{}, db.Clock))(t)
	hub := must(channel.NewHub(db.Journal, channels, console.New(), cli.New(), bridge))(t)

	models := must(llm.NewRegistry(llm.RegistryConfig{}))(t)
	prices := must(llm.NewPrices())(t)
	modelRows := llmdb.New()
	service := must(llm.NewService(llm.ServiceConfig{Store: modelRows, Registry: models, Prices: prices, Clock: db.Clock,
		Origin: give(event.LayerAgent, event.ClassAgent, "agent", "llm.request", "llm.response")}))(t)
	prompts := llm.NewPrompts(modelRows, give(event.LayerAgent, event.ClassModel, "prompts", "prompt.saved"))

	registry, err := testSkills()
	if err != nil {
		t.Fatal(err)
	}
	skills := must(skill.New(skill.Config{Journal: db.Journal, Store: skilldb.New(), Decider: h.desk, Asker: h.desk, Holdings: holdings{h}, People: people, Deliveries: deliveries{db.DB},
		Executables: registry.kinds(), Permissions: nil,
		Origin: give(event.LayerExecution, event.ClassSkill, "skill", "skill.result", "effect.changed", "effect.settled", "catalogue.changed"), Clock: db.Clock, Log: log}))(t)
	h.agents = must(agent.New(agent.Deps{Journal: db.Journal, Store: rows.agent, Clock: db.Clock, Log: log, Models: service, Prompts: prompts, Catalogue: skills,
		Policy: policyVersion{pol}, People: people, Code: "test code 1", Origins: agent.Origins{Agent: give(event.LayerAgent, event.ClassAgent, "agent", "agent.response", "agent.defined",
			"run.started", "run.delayed", "run.finished", "run.cancelled", "thread.summarised", "skill.invoke", "budget.met")}}))(t)
	disp := must(dispatch.New(db.Journal, dispatchdb.New(), dispatch.Ports{Outlet: hub, Agents: agentsOf{rows.agent}, People: people, Jitter: func(int64) int64 { return 0 }},
		dispatch.Origins{Dispatch: give(event.LayerDispatch, event.ClassDispatch, "dispatch", "agent.task", "outbound.message", "outbound.blocked", "delivery.receipt",
			"message.held", "held.settled", "message.rejected", "contact.saved", "route.saved")}, dispatchConfig()))(t)

	table := must(bus.NewTable(
		bus.Reaction{Name: "policy.account", On: []event.Type{"account.created"}, Run: pol.OnAccount},
		bus.Reaction{Name: "dispatch.inbound", On: []event.Type{"inbound.message"}, Run: disp.OnInbound},
		bus.Reaction{Name: "agent.task", On: []event.Type{"agent.task"}, Run: h.agents.OnTask},
		bus.Reaction{Name: "skill.invoke", On: []event.Type{"skill.invoke"}, Run: skills.OnInvoke},
		bus.Reaction{Name: "skill.approval", On: []event.Type{"approval.answered"}, Run: skills.OnApproval},
		bus.Reaction{Name: "skill.withdrawn", On: []event.Type{"approval.withdrawn"}, Run: skills.OnWithdrawn},
		bus.Reaction{Name: "agent.result", On: []event.Type{"skill.result"}, Run: h.agents.OnResult},
		bus.Reaction{Name: "dispatch.response", On: []event.Type{"agent.response"}, Run: disp.OnResponse},
		bus.Reaction{Name: "agent.outbound", On: []event.Type{"outbound.message"}, Run: h.agents.OnOutbound},
	))(t)
	db.React(table)
	h.origin = give(event.LayerAgent, event.ClassAgent, "agent", "skill.invoke")

	tasks := must(work.New(workdb.New(), give(event.LayerDispatch, event.ClassWork, "work", work.EventTypes()...), work.DefaultConfig()))(t)
	router := bus.NewRouter(db.DB, table, give(event.LayerSystem, event.ClassSystem, "router", "subscriber.parked", "subscriber.unparked"), time.Minute, log)
	h.deps = api.Deps{Account: h.account, PublicURL: publicURL, Version: "test", Journal: db.Journal, Clock: db.Clock, IDs: db.IDs, Keyring: db.Options.Keyring, Log: log,
		Identity: ident, Policy: pol, Skills: skills, Agents: h.agents, Dispatch: disp, Intake: intake, Hub: hub, LLM: modelRows,
		Work: tasks, Random: rand.Reader,
		Replay: agent.Replayer{Store: rows.agent, Prompts: prompts, Catalogue: skills, Code: "test code 1"}.Replay,
		Speakers: map[string]api.Speaker{
			"cli": func(s api.Said) channel.Inbound {
				return cli.Said{Account: s.Account, PersonID: s.PersonID, Name: s.Name, ThreadID: s.ThreadID, Text: s.Text, Agent: s.Agent, Key: s.Key}.Inbound()
			},
			"console": func(s api.Said) channel.Inbound {
				return console.Said{Account: s.Account, PersonID: s.PersonID, Name: s.Name, ThreadID: s.ThreadID, Text: s.Text, Agent: s.Agent, Nonce: s.Key, Files: s.Files}.Inbound()
			},
		},
		HTTP:   map[string]api.HTTPChannel{"bridge": program{bridge, intake}},
		Record: record{}, Audit: audit{db, give(event.LayerSystem, event.ClassSystem, "store", "checkpoint.signed", "segment.cut", "subject.erased", "epoch.started", "work.held", "work.released")},
		Tails: bus.NewTails(db.DB, log), Unpark: router.Unpark,
		Backup: func(ctx context.Context, dir string) (api.BackupMade, error) {
			m, err := db.Backup(ctx, dir, nil)
			return api.BackupMade{Dir: dir, Engine: m.Engine, At: m.At, Files: m.Files}, err
		},
		Ready: func(context.Context) error { return nil }, Files: files{blobs}, Commits: db.Commits, Registry: prometheus.NewRegistry(),
	}
	for _, f := range change {
		f(&h.deps)
	}
	h.api = must(api.New(h.deps))(t)
	h.server = httptest.NewServer(h.api.Handler())
	t.Cleanup(func() {
		stop, cancel := context.WithTimeout(ctx(), 10*time.Second)
		defer cancel()
		if err := h.api.Close(stop); err != nil {
			t.Errorf("streams did not end: %v", err)
		}
		h.server.Close()
	})

	must(skills.Seed(ctx(), h.account, registry.Entries()))(t)
	src := must(agent.ReadSource("coordinator.yaml", []byte("name: coordinator\ndescription: Answers people.\nplain_commands: true\nskills: [note.put, note.burn]\n")))(t)
	must(h.agents.Define(ctx(), h.account, []agent.Source{src}, "system:start"))(t)
	shipped := must(agent.ShippedPrompts())(t)
	if err := db.Journal.Do(ctx(), h.account, func(tx event.Tx) error {
		_, err := prompts.Seed(tx, event.Draft{Label: storetest.House()}, shipped)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	link := must(ident.NewSetupLink(ctx(), h.account))(t)
	h.owner = must(ident.ClaimWithPassword(ctx(), h.account, identity.Claim{Code: link.Code, Name: "Mira", SignIn: "mira"}, secret.New(goodWords)))(t)
	return h
}

// dispatchConfig lets a flood be small.
func dispatchConfig() dispatch.Config {
	c := dispatch.DefaultConfig()
	c.Outsiders = dispatch.Rate{Burst: 20, PerMinute: 20}
	bridge := dispatch.DefaultChannelPolicy()
	bridge.OverRate = dispatch.Reject
	c.Channels = map[string]dispatch.ChannelPolicy{"bridge": bridge}
	return c
}

// person makes somebody with a role and signs them in.
func (h *house) person(signIn string, role identity.Role) identity.SignedIn {
	h.t.Helper()
	_, link, err := h.deps.Identity.CreatePerson(ctx(), h.account, h.owner.Principal, identity.NewPerson{Name: signIn, SignIn: signIn, Role: role})
	if err != nil {
		h.t.Fatal(err)
	}
	return must(h.deps.Identity.ResetWithPassword(ctx(), h.account, link.Code, secret.New(goodWords), identity.Client{}))(h.t)
}

// token makes an API token of a signed-in person.
func (h *house) token(in identity.SignedIn) string {
	h.t.Helper()
	_, s, err := h.deps.Identity.CreateToken(ctx(), h.account, in.Principal, identity.NewTokenRequest{Name: "test"})
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Reveal()
}

// drain works until no run is ready.
func (h *house) drain() {
	h.t.Helper()
	for range 100 {
		worked := false
		for _, l := range must(h.db.Ready(ctx(), 100))(h.t) {
			if l.Kind != event.WorkRun {
				continue
			}
			err := h.agents.Work(ctx(), l.Account, l.ID)
			if err != nil && !fault.Is(err, fault.Stale) {
				h.t.Fatalf("work: %v", err)
			}
			worked = worked || err == nil
		}
		if !worked {
			return
		}
	}
	h.t.Fatal("it never comes to rest")
}

// request is one call of the API under test.
type request struct {
	method, path string
	body         any // a string goes as it is
	headers      map[string]string
	as           string // a token
	session      secret.String
	host         string
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) problem(t testing.TB) api.Problem {
	t.Helper()
	if ct := r.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Fatalf("status %d with %q instead of a problem document: %s", r.status, ct, r.body)
	}
	var p api.Problem
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Fatal(err)
	}
	if p.Status != r.status || p.Kind == "" || p.Title == "" || p.Detail == "" || p.Type == "" || !strings.HasPrefix(p.Instance, "urn:witan:request:") {
		t.Fatalf("an incomplete problem: %s", r.body)
	}
	return p
}

func (h *house) newRequest(q request) *http.Request {
	h.t.Helper()
	var body io.Reader
	switch b := q.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	case []byte:
		body = bytes.NewReader(b)
	default:
		body = bytes.NewReader(must(json.Marshal(b))(h.t))
	}
	r := must(http.NewRequestWithContext(ctx(), q.method, h.server.URL+q.path, body))(h.t)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.as != "" {
		r.Header.Set("Authorization", "Bearer "+q.as)
	}
	if !q.session.Empty() {
		r.AddCookie(&http.Cookie{Name: identity.CookieName(false), Value: q.session.Reveal()})
	}
	for k, v := range q.headers {
		r.Header.Set(k, v)
	}
	if q.host != "" {
		r.Host = q.host
	}
	return r
}

func (h *house) do(q request) reply {
	h.t.Helper()
	res := must(h.server.Client().Do(h.newRequest(q)))(h.t)
	defer res.Body.Close()
	return reply{res.StatusCode, res.Header, must(io.ReadAll(res.Body))(h.t)}
}

// ok sends a request that must succeed with a status, and reads the answer.
func (h *house) ok(q request, status int, out any) {
	h.t.Helper()
	r := h.do(q)
	if r.status != status {
		h.t.Fatalf("%s %s: %d, want %d: %s", q.method, q.path, r.status, status, r.body)
	}
	if out != nil {
		if err := json.Unmarshal(r.body, out); err != nil {
			h.t.Fatalf("%s %s: %v in %s", q.method, q.path, err, r.body)
		}
	}
}

// fails sends a request that must be refused.
func (h *house) fails(q request, status int, kind fault.Kind) api.Problem {
	h.t.Helper()
	r := h.do(q)
	if r.status != status {
		h.t.Fatalf("%s %s: %d, want %d: %s", q.method, q.path, r.status, status, r.body)
	}
	p := r.problem(h.t)
	if p.Kind != kind.String() {
		h.t.Fatalf("%s %s: kind %s, want %s: %s", q.method, q.path, p.Kind, kind, p.Detail)
	}
	return p
}

// record, audit and the others below are what app fills the ports with.
type record struct{}

func (record) After(tx event.Tx, after int64, n int) ([]event.Event, error) {
	return store.EventsAfter(tx, after, n)
}

func (record) Before(tx event.Tx, before int64, n int) ([]event.Event, error) {
	return store.EventsBefore(tx, before, n)
}

func (record) OfRound(tx event.Tx, c id.ID, n int) ([]event.Event, error) {
	return store.EventsOfRound(tx, c, n)
}

func (record) Get(tx event.Tx, e id.ID) (event.Event, error) { return store.GetEvent(tx, e) }

func (record) Head(tx event.Tx) (bus.Tip, [32]byte, error) { return store.HeadOf(tx) }

func (record) Parked(tx event.Tx, n int) ([]bus.Deferred, error) { return store.Parked(tx, n) }

func (record) Held(tx event.Tx) (out []api.HeldWork, err error) {
	rows, err := store.ListHeld(tx)
	for _, r := range rows {
		out = append(out, api.HeldWork{Kind: string(r.Kind), ID: r.ID, Scope: r.Scope, Reason: r.Reason})
	}
	return out, err
}

type audit struct {
	db     *storetest.DB
	origin event.Origin
}

func (a audit) Verify(ctx context.Context, account id.ID, marks []json.RawMessage, _ func(int64)) (api.Verified, error) {
	var at []store.Checkpoint
	for _, m := range marks {
		var c store.Checkpoint
		if err := json.Unmarshal(m, &c); err != nil {
			return api.Verified{}, err
		}
		at = append(at, c)
	}
	r, err := store.VerifyChain(ctx, a.db.DB, account, at)
	return api.Verified{Events: r.Events, Erased: r.Erased, Base: r.Base, Head: r.Head, Hash: hex.EncodeToString(r.Hash[:])}, err
}

func (a audit) Sign(ctx context.Context, account id.ID) (json.RawMessage, error) {
	c, err := a.db.SignCheckpoint(ctx, account, a.origin)
	if err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

func (a audit) Release(ctx context.Context, account id.ID, by string) (int64, int64, error) {
	return a.db.ReleaseHeld(ctx, account, by, a.origin)
}

func (a audit) Export(ctx context.Context, account id.ID, from, to int64, open bool, w io.Writer) (int64, int64, error) {
	return a.db.Export(ctx, account, from, to, open, w)
}

type program struct {
	channel *httpin.Channel
	intake  *channel.Intake
}

func (p program) Verify(timestamp, signature string, body []byte, now time.Time) error {
	return p.channel.Verify(timestamp, signature, body, now)
}

func (p program) Receive(ctx context.Context, who api.Program, key string, r api.Posted) (channel.Accepted, error) {
	return p.channel.Receive(ctx, p.intake, httpin.Caller{Account: who.Account, PersonID: who.PersonID, Name: who.Name, TokenID: who.TokenID, Signed: who.Signed}, key,
		httpin.Request{Text: r.Text, Sender: r.Sender, SenderName: r.SenderName, Thread: r.Thread, ThreadID: r.ThreadID, Agent: r.Agent, SentAt: r.SentAt, Cursor: r.Cursor, Files: r.Files})
}

type files struct{ folder *blob.Folder }

func (f files) Open(account id.ID, digest string) (io.ReadCloser, int64, error) {
	return f.folder.Get(account, digest)
}

func (files) SafeType(declared string) (string, bool) { return blob.SafeMediaType(declared) }

type peopleOf struct{ store identity.Store }

func (p peopleOf) RoleOf(tx event.Tx, person id.ID) (string, error) {
	got, err := p.store.GetPerson(tx, person)
	if err == nil && got.State != identity.Active {
		err = fault.New(fault.NotFound, "no active person")
	}
	return string(got.Role), err
}

func (p peopleOf) May(tx event.Tx, by, act string) error {
	return identity.May(tx, p.store, by, identity.Act(act))
}

func (p peopleOf) Readers(tx event.Tx) (out []string, err error) {
	people, err := p.store.ListPeople(tx)
	for _, x := range people {
		out = append(out, "person:"+x.ID.String())
	}
	return append(out, "agent:coordinator"), err
}

func (p peopleOf) Owner(tx event.Tx) (id.ID, error) {
	people, err := p.store.ListPeople(tx)
	if err != nil || len(people) == 0 {
		return id.Nil, err
	}
	return people[0].ID, nil
}

type agentsOf struct{ store *agentdb.Store }

func (a agentsOf) Serves(tx event.Tx, name string) (bool, error) {
	_, err := a.store.CurrentVersion(tx, name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

type policyVersion struct{ policy *policy.Service }

func (p policyVersion) Version(tx event.Tx) (int, error) {
	t, err := p.policy.Current(tx)
	if err != nil {
		return 0, err
	}
	return t.Version(), nil
}

type holdings struct{ h *house }

func (h holdings) Held(tx event.Tx, actor string) ([]string, error) {
	return h.h.agents.Held(tx, actor)
}

type deliveries struct{ engine bus.Engine }

func (d deliveries) SkillInvoke(ctx context.Context, account, ev id.ID) (event.Delivery[event.SkillInvoke], error) {
	return bus.Deliver[event.SkillInvoke](ctx, d.engine, account, ev)
}
