package app

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	channelconsole "github.com/witan-run/witan/internal/channel/console"
	"github.com/witan-run/witan/internal/console"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
)

// newConsole connects the console to the parts. The API is built after it and
// serves it, so that one gate stands in front of both.
func (a *App) newConsole() (*console.Console, error) {
	p := a.parts
	paths := Paths{a.config.Data}
	zone, err := a.config.zone()
	if err != nil {
		return nil, err
	}
	facts := console.Facts{DataFolder: a.config.Data, Database: "SQLite, " + paths.Database(), Keyring: paths.Keyring(),
		Backup: "witan backup FOLDER", Config: modelConfig, Demo: a.deps.Demo, DemoFolder: paths.Files()}
	if a.config.Database.Set() {
		facts.Database = "PostgreSQL"
	}
	if p.disk != nil {
		facts.DiskLow = p.disk.Full
	}
	return console.New(console.Deps{
		Account: p.account, PublicURL: a.config.PublicURL, Version: Version(), Journal: p.db, Record: record{}, Clock: a.deps.Clock,
		Log: a.deps.Log, Identity: p.identity, Policy: p.policy, Skills: p.skills, Agents: p.agents, Dispatch: p.dispatch, Intake: p.intake, Work: p.work,
		Speak: func(s console.Said) channel.Inbound {
			return channelconsole.Said{Account: s.Account, PersonID: s.PersonID, Name: s.Name, ThreadID: s.ThreadID, Text: s.Text, Agent: s.Agent, Nonce: s.Key}.Inbound()
		},
		Unpark: p.unpark, Held: heldWork, Replay: p.replay, Stream: "/api/v1/stream",
		Verify: a.verifyForConsole, Preview: a.preview,
		Models: func(role string) bool { _, ok := p.models.Route(role); return ok },
		StepUp: func(who identity.Principal, approval id.ID, digest, token string) error {
			return a.api.CheckStepUp(who, approval, digest, token)
		},
		Facts: facts, Zone: zone,
	})
}

// heldWork fills console.Deps.Held from the rows of leased work.
func heldWork(tx event.Tx) (out console.HeldWork, err error) {
	work, timers, err := store.CountHeld(tx)
	out.Timers = int(timers)
	for _, h := range work {
		n := int(h.Count)
		switch {
		case h.Reason == bus.HeldPoison:
			out.Failed += n
		case h.Kind == event.WorkEffect:
			out.Effects += n
		case h.Kind == event.WorkRun:
			out.Runs += n
		case h.Kind == event.WorkDelivery:
			out.Deliveries += n
		default:
			out.Others += n
		}
	}
	return out, err
}

// modelConfig is what the console shows to those who have no model yet.
const modelConfig = `models:
  providers:
    local:
      kind: openai
      base_url: http://127.0.0.1:11434/v1
      price: free
  roles:
    default: [local/qwen3]`

func (a *App) verifyForConsole(ctx context.Context, progress func(int64)) (console.Verified, error) {
	r, err := store.VerifyProgress(ctx, a.parts.db, a.parts.account, nil, progress)
	var bad *store.BadEvent
	if errors.As(err, &bad) {
		return console.Verified{Bad: bad.Seq}, nil
	}
	return console.Verified{Events: r.Events, Head: r.Head, Hash: r.Hash}, err
}

// mostPreviewed is how large a file may be to be compared on a page.
const mostPreviewed = 256 << 10

// preview shows what a call would change: for the file skill, the file as it is.
// It only reads, inside the account's own folder.
func (a *App) preview(_ context.Context, skillName string, arguments json.RawMessage) (console.Live, bool, error) {
	if skillName != "file.write" {
		return console.Live{}, false, nil
	}
	var in struct {
		Path, Text string
	}
	if json.Unmarshal(arguments, &in) != nil || in.Path == "" {
		return console.Live{}, false, nil //nolint:nilerr // arguments that do not fit are the call's own error, not the page's
	}
	out := console.Live{Argument: "text", Next: in.Text}
	now, err := a.parts.files.Text(a.parts.account, in.Path)
	switch {
	case fault.Is(err, fault.NotFound):
		return out, true, nil
	case err != nil || len(now) > mostPreviewed:
		return out, false, nil //nolint:nilerr // the page stands without a preview
	}
	out.Exists, out.Now = true, now
	return out, true, nil
}
