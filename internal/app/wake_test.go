package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/event"
)

// TestARunThatWaitedForAModelGoesOnWhenOneIsConfigured: a message that came
// while there was no model is answered after the start that brings one.
func TestARunThatWaitedForAModelGoesOnWhenOneIsConfigured(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(script, []byte("name: test\nlines:\n  - say: Here I am.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := agent.ReadSource("desk.yaml", []byte("name: desk\ndescription: Answers.\nprompt: coordinator\n"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(m Models) (*App, func()) {
		c := Default()
		c.Data, c.Listen, c.Models = filepath.Join(dir, "data"), "127.0.0.1:0", m
		a, err := New(context.Background(), c, Deps{Log: slog.New(slog.DiscardHandler), Agents: []agent.Source{src}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		return a, func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("run: %v", err)
			}
		}
	}
	a, stop := run(Models{})
	me, p := owner(t, a), a.parts
	accepted, err := p.intake.Accept(context.Background(), speakers()["cli"](api.Said{Account: p.account, PersonID: me.PersonID, Name: "Owner", Text: "hello", Agent: "desk"}))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a run that rests", func() (rests agent.Run, ok bool) {
		a.view(t, func(tx event.Tx) error {
			list, err := p.rows.agent.ListResting(tx, 10)
			if ok = len(list) == 1; ok {
				rests = list[0]
			}
			return err
		})
		return rests, ok
	})
	stop()

	a, stop = run(Models{Providers: map[string]Provider{"s": {Kind: "script", Script: script}}, Roles: map[string][]string{"default": {"s/one"}}})
	defer stop()
	said := eventually(t, "an answer", func() (m event.OutboundMessage, ok bool) {
		_, _, said, err := a.parts.dispatch.Answer(context.Background(), a.parts.account, "cli", accepted.MessageID)
		if err != nil {
			t.Fatal(err)
		}
		if ok = len(said) > 0; ok {
			m = said[0]
		}
		return m, ok
	})
	if said.Text != "Here I am." || said.IsError {
		t.Errorf("%+v", said)
	}
}
