package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/harness/fakeworld"
	"github.com/witan-run/witan/internal/harness/killer"
)

// The shared binaries of a test process: the real one, the one with the
// harness's skills, and its broken twins by name. TestMain removes them.
//
//nolint:gochecknoglobals // built once per test process
var built struct {
	mu  sync.Mutex
	dir string
	by  map[string]string
}

// binary builds a package of this module once; overlay replaces files, as
// go build -overlay does, and may be nil.
func binary(t testing.TB, name, pkg string, overlay map[string]string, flags ...string) string {
	t.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	if path, ok := built.by[name]; ok {
		return path
	}
	if built.by == nil {
		built.by = map[string]string{}
		var err error
		if built.dir, err = os.MkdirTemp("", "witan-built-"); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(built.dir, name)
	args := append([]string{"build", "-o", path}, flags...)
	if overlay != nil {
		raw, err := json.Marshal(map[string]any{"Replace": overlay})
		if err != nil {
			t.Fatal(err)
		}
		file := path + ".overlay.json"
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-overlay", file)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, pkg)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	built.by[name] = path
	return path
}

// tortured is the binary whose lives are led; witan the one that is shipped.
func tortured(t testing.TB) string {
	t.Helper()
	return binary(t, "tortured", "github.com/witan-run/witan/internal/harness/tortured", nil)
}

func witan(t testing.TB) string {
	t.Helper()
	return binary(t, "witan", "github.com/witan-run/witan/cmd/witan", nil)
}

// house is one installation: a folder, a configuration, an address, a world and
// perhaps a database. It outlives the processes that serve it.
type house struct {
	t      testing.TB
	dir    string
	addr   string
	url    string // of the database; empty means SQLite
	world  *fakeworld.Server
	binary string
	log    *syncBuffer
	client *http.Client
	env    []string
	owner  string   // token of the harness's person
	tokens []string // of people who speak
}

// syncBuffer collects the output of all lives.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

// tail returns the end of what was written.
func (s *syncBuffer) tail() string {
	text := s.String()
	return text[max(0, len(text)-4000):]
}

const password = "seven grey herons over the weir"

// agentText is the resident that carries out what a message names.
const agentText = `name: tortured
description: Does in the fake world what a message names.
model_role: respond
prompt: coordinator
skills: [harness.read, harness.idempotent, harness.reconcilable, harness.once, file.write]
memory: {scopes: [account]}
budgets: {tokens: 1000000, steps: 8, context: 16000, answer: 1000}
autonomy: 80
`

// scriptText answers "do NAME" by one call of each class, in one step, and then
// by one answer. "one NAME" makes one idempotent call.
const scriptText = `name: harness
lines:
  - when: {user: '\bdo (?P<name>[a-z0-9.-]+)', step: 0}
    delay_ms: 5
    call:
      - {tool: harness.read, args: {name: '${user.name}'}}
      - {tool: harness.idempotent, args: {name: '${user.name}'}}
      - {tool: harness.reconcilable, args: {name: '${user.name}'}}
      - {tool: harness.once, args: {name: '${user.name}'}}
  - when: {user: '\bdo (?P<name>[a-z0-9.-]+)', step: 1}
    say: 'did ${user.name}.'
  - when: {user: '\bone (?P<name>[a-z0-9.-]+)', step: 0}
    call:
      - {tool: harness.idempotent, args: {name: '${user.name}'}}
  - when: {user: '\bone (?P<name>[a-z0-9.-]+)', step: 1}
    say: 'did ${user.name}.'
  - say: 'I do what is named only.'
`

// freePort returns an address that nobody listens on now.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return addr
}

// newHouse makes an installation with the harness's agent, script and channel.
// more is appended to its configuration.
func newHouse(t testing.TB, engine, more string) *house {
	t.Helper()
	dir, err := os.MkdirTemp("", "wh") // short: a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &house{t: t, dir: dir, addr: freePort(t), log: &syncBuffer{},
		client: &http.Client{Timeout: 90 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	t.Cleanup(h.client.CloseIdleConnections)
	if h.world, err = fakeworld.Serve(filepath.Join(dir, "world.jsonl")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.world.Close(); err != nil {
			t.Error(err)
		}
	})
	if engine == "postgres" {
		if h.url, err = postgres(t).Create(); err != nil {
			t.Fatal(err)
		}
	}
	h.write("agents/tortured.yaml", agentText)
	h.write("script.yaml", scriptText)
	h.configure(more)
	return h
}

// configure writes witan.yaml.
func (h *house) configure(more string) {
	h.t.Helper()
	text := fmt.Sprintf("data: %s\nlisten: %s\nagents: %s\nlog: {level: warn}\n", h.data(), h.addr, filepath.Join(h.dir, "agents"))
	if h.url != "" {
		h.env = append(h.env, "HARNESS_DATABASE="+h.url)
		text += "database: ${HARNESS_DATABASE}\n"
	}
	if !strings.Contains(more, "models:") {
		text += fmt.Sprintf("models:\n  providers: {script: {kind: script, script: %s}}\n  roles: {default: [script/harness]}\n", filepath.Join(h.dir, "script.yaml"))
	}
	if !strings.Contains(more, "channels:") {
		text += "channels:\n  http:\n    bridge: {trust: high}\n"
	}
	h.write("witan.yaml", text+more)
}

func (h *house) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) data() string   { return filepath.Join(h.dir, "data") }
func (h *house) config() string { return filepath.Join(h.dir, "witan.yaml") }

// killer returns what leads the house's lives.
func (h *house) killer() *killer.Killer {
	return &killer.Killer{Limit: 20 * time.Second, Config: h.process()}
}

func (h *house) process() killer.Config {
	bin := h.binary
	if bin == "" {
		bin = tortured(h.t)
	}
	return killer.Config{Command: []string{bin, h.config(), h.world.URL}, Env: h.env, Output: h.log,
		Ready: "http://" + h.addr + "/readyz", ReadyIn: 60 * time.Second}
}

// start begins a life that the test ends with stop, or that ends with the test.
func (h *house) start() *killer.Process {
	h.t.Helper()
	p, err := killer.Start(h.process())
	if err == nil {
		_, err = p.WaitReady(h.t.Context())
	}
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.log.tail())
	}
	h.t.Cleanup(func() { _, _ = p.Kill() })
	return p
}

// stop ends a life politely.
func (h *house) stop(p *killer.Process) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		h.t.Errorf("%v\n%s", err, h.log.tail())
	}
}

// refusal is an answer that is not 2xx.
type refusal struct {
	status int
	body   string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.status, r.body) }

// ask sends in as JSON and reads the answer into out; token may be empty. An
// answer that is not 2xx is a *refusal.
func (h *house) ask(ctx context.Context, token, method, path string, in, out any, headers ...string) error {
	return ask(ctx, h.client, "http://"+h.addr, token, method, path, in, out, headers...)
}

func ask(ctx context.Context, client *http.Client, base, token, method, path string, in, out any, headers ...string) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode/100 != 2:
		return &refusal{res.StatusCode, string(raw)}
	case out == nil || len(raw) == 0:
		return nil
	}
	return json.Unmarshal(raw, out)
}

// socket returns a client of the data folder's socket: it acts as the owner.
func (h *house) socket() *http.Client {
	path := filepath.Join(h.data(), "witan.sock")
	return &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}}}
}

// local asks over the socket, as a person (by sign-in name) or as the only owner.
func (h *house) local(as, method, path string, in, out any) {
	h.t.Helper()
	var headers []string
	if as != "" {
		headers = []string{"Witan-As", as}
	}
	if err := ask(h.t.Context(), h.socket(), "http://witan", "", method, path, in, out, headers...); err != nil {
		h.t.Fatalf("%s %s as %q: %v\n%s", method, path, as, err, h.log.tail())
	}
}

// settle takes possession of a house that is being served for the first time: an
// owner, people who may speak, and a rule that lets the harness's skills act.
func (h *house) settle(people int) {
	h.t.Helper()
	code, err := os.ReadFile(filepath.Join(h.data(), "setup-code"))
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.ask(h.t.Context(), "", "POST", "/api/v1/setup", map[string]string{
		"code": strings.TrimSpace(string(code)), "name": "Owner", "signInName": "owner", "password": password}, nil); err != nil {
		h.t.Fatalf("%v\n%s", err, h.log.tail())
	}
	var pol struct {
		Version  int            `json:"version"`
		Document map[string]any `json:"document"`
	}
	h.local("owner", "GET", "/api/v1/policy", nil, &pol)
	rules, _ := pol.Document["rules"].([]any)
	pol.Document["rules"] = append(rules, map[string]any{"id": 900, "effect": "allow", "skill": []string{"harness.*"}, "note": "the fake world only"},
		map[string]any{"id": 901, "effect": "allow", "who": []string{"agent:tortured"}, "skill": []string{"file.write"}})
	h.local("owner", "PUT", "/api/v1/policy", map[string]any{"base": pol.Version, "document": pol.Document}, nil)
	var own struct {
		Secret string `json:"secret"`
	}
	h.local("owner", "POST", "/api/v1/tokens", map[string]string{"name": "harness"}, &own)
	h.owner = own.Secret
	for n := range people {
		name := fmt.Sprintf("person%d", n)
		h.local("owner", "POST", "/api/v1/people", map[string]string{"name": "Person", "signInName": name, "role": "operator"}, nil)
		var tok struct {
			Secret string `json:"secret"`
		}
		h.local(name, "POST", "/api/v1/tokens", map[string]string{"name": "harness"}, &tok)
		h.tokens = append(h.tokens, tok.Secret)
	}
}

// token spreads the load over people: each may say only so much in a minute.
func (h *house) token(n int) string { return h.tokens[n%len(h.tokens)] }

// verify runs `witan audit verify` on the stopped house.
func (h *house) verify() {
	h.t.Helper()
	args := []string{"audit", "verify", "--data", h.data()}
	if h.url != "" {
		args = append(args, "--database", h.url)
	}
	cmd := exec.CommandContext(h.t.Context(), witan(h.t), args...)
	cmd.Env = append(os.Environ(), h.env...)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("verified")) {
		h.t.Fatalf("witan audit verify: %v\n%s", err, out)
	}
}

// passing reports whether an error is only that nobody serves right now: an
// answer that never came or was cut, or one that says so.
func passing(err error) bool {
	var r *refusal
	if errors.As(err, &r) {
		return r.status == http.StatusServiceUnavailable || r.status == http.StatusTooManyRequests
	}
	return true
}
