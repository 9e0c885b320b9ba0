package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
	"github.com/witan-run/witan/internal/store"
)

// notes is a skill that writes a line into a file: the outside world of a test.
type notes struct{ path string }

const notesManifest = `
name: notes.add
version: 1.0.0
kind: builtin
description: Adds a line to a file.
title: Add "{text}"
input:
  type: object
  additionalProperties: false
  required: [text]
  properties: {text: {type: string, maxLength: 200}}
output:
  type: object
  additionalProperties: false
  required: [lines]
  properties: {lines: {type: integer}}
action_risk: medium
access: write
target: [/text]
permissions: [files]
effect_class: idempotent
timeout_ms: 5000
output_label: known
`

func (n notes) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var in struct{ Text string }
	if err := c.Bind(&in); err != nil {
		return skill.Output{}, err
	}
	f, err := os.OpenFile(n.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return skill.Output{}, err
	}
	defer f.Close()
	_, err = f.WriteString(c.Key + " " + in.Text + "\n")
	return skill.Output{Value: map[string]int{"lines": 1}}, err
}

const scriptText = `
name: test
lines:
  - when: {tool: notes.add}
    say: Done as you asked.
  - when: {user: "add milk"}
    call:
      - tool: notes.add
        args: {text: milk}
  - say: I do not know.
`

const agentText = `
name: scribe
description: Adds notes.
model_role: respond
prompt: coordinator
skills: [notes.add, inbox.waiting]
memory: {scopes: [account]}
budgets: {tokens: 100000, steps: 8, context: 8000, answer: 1000}
autonomy: 75
`

// start runs a whole Witan in this process on a free port.
func start(t testing.TB) (*App, string) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(script, []byte(scriptText), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse([]byte(notesManifest))
	if err != nil {
		t.Fatal(err)
	}
	src, err := agent.ReadSource("scribe.yaml", []byte(agentText))
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.Data, c.Listen = filepath.Join(dir, "data"), "127.0.0.1:0"
	c.Models.Providers = map[string]Provider{"s": {Kind: "script", Script: script}}
	c.Models.Roles = map[string][]string{"default": {"s/one"}}
	c.Limits = Limits{Person: maxPerMinute, People: maxPerMinute, Sender: maxPerMinute, Outsiders: maxPerMinute}
	world := filepath.Join(dir, "world")
	level := slog.LevelWarn
	if os.Getenv("WITAN_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	a, err := New(context.Background(), c, Deps{
		Log:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
		Skills: []skill.Registration{{Manifest: m, Exec: notes{world}}}, Agents: []agent.Source{src},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return a, world
}

// owner claims the account with a password.
func owner(t testing.TB, a *App) identity.Principal {
	t.Helper()
	p := a.parts
	l, err := p.identity.NewSetupLink(context.Background(), p.account)
	if err != nil {
		t.Fatal(err)
	}
	in, err := p.identity.ClaimWithPassword(context.Background(), p.account, identity.Claim{Code: l.Code, Name: "Owner", SignIn: "owner"}, secret.New("a long enough pass phrase"))
	if err != nil {
		t.Fatal(err)
	}
	return in.Principal
}

func eventually[T any](t *testing.T, what string, f func() (T, bool)) T {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		v, ok := f()
		if ok {
			return v
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func (a *App) view(t *testing.T, f func(tx event.Tx) error) {
	t.Helper()
	if err := a.parts.db.View(context.Background(), a.parts.account, f); err != nil {
		t.Fatal(err)
	}
}

// trail prints the journal when a test fails.
func (a *App) trail(t *testing.T) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		a.view(t, func(tx event.Tx) error {
			evs, err := store.EventsAfter(tx, 0, 1000)
			for _, e := range evs {
				p, _ := json.Marshal(e.Payload)
				t.Logf("%d %s %s %.300s", e.Seq, e.Type, e.Source, p)
			}
			return err
		})
	})
}

func TestAMessageIsAnsweredThroughTheGateAndReplays(t *testing.T) {
	t.Parallel()
	a, world := start(t)
	a.trail(t)
	me := owner(t, a)
	p := a.parts
	accepted, err := p.intake.Accept(context.Background(), speakers()["cli"](api.Said{Account: p.account, PersonID: me.PersonID, Name: "Owner", Text: "Please add milk", Agent: "scribe"}))
	if err != nil {
		t.Fatal(err)
	}
	open := eventually(t, "an approval", func() (policy.Approval, bool) {
		var list []policy.Approval
		a.view(t, func(tx event.Tx) (err error) {
			list, err = p.policy.ListApprovals(tx, policy.ApprovalFilter{State: policy.StateOpen})
			return err
		})
		if len(list) == 0 {
			if _, _, said, _ := p.dispatch.Answer(context.Background(), p.account, "cli", accepted.MessageID); len(said) > 0 {
				t.Fatalf("answered without asking: %s", said[0].Text)
			}
			return policy.Approval{}, false
		}
		return list[0], true
	})
	if b, err := os.ReadFile(world); err == nil {
		t.Fatalf("the effect happened before anybody allowed it: %s", b)
	}
	if _, err := p.policy.Answer(context.Background(), p.account, me.PersonID, policy.AnswerRequest{Approval: open.ID, Digest: open.Digest, Answer: policy.AnswerAllow, Scope: policy.ScopeOnce, Via: "cli"}); err != nil {
		t.Fatal(err)
	}
	said := eventually(t, "an answer", func() (event.OutboundMessage, bool) {
		_, _, said, err := p.dispatch.Answer(context.Background(), p.account, "cli", accepted.MessageID)
		if err != nil {
			t.Fatal(err)
		}
		if len(said) == 0 {
			return event.OutboundMessage{}, false
		}
		return said[0], true
	})
	if said.IsError || said.Text != "Done as you asked." {
		t.Fatalf("answer: %+v", said)
	}
	if b, err := os.ReadFile(world); err != nil || len(b) == 0 {
		t.Fatalf("the effect did not happen: %v", err)
	}
	a.view(t, func(tx event.Tx) error {
		r, err := p.replay(tx, said.RunID)
		if err != nil {
			return err
		}
		if r.Verdict != agent.Exact {
			b, _ := json.Marshal(r)
			t.Errorf("replay: %s", b)
		}
		return nil
	})
	if _, err := store.VerifyChain(context.Background(), p.db, p.account, nil); err != nil {
		t.Fatal(err)
	}
}
