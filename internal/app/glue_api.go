package app

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"

	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/channel/cli"
	"github.com/witan-run/witan/internal/channel/console"
	"github.com/witan-run/witan/internal/channel/httpin"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/blob"
)

// record fills api.Record: the journal as readers see it.
type record struct{}

func (record) After(tx event.Tx, after int64, limit int) ([]event.Event, error) {
	return store.EventsAfter(tx, after, limit)
}

func (record) Before(tx event.Tx, before int64, limit int) ([]event.Event, error) {
	return store.EventsBefore(tx, before, limit)
}

func (record) OfRound(tx event.Tx, correlation id.ID, limit int) ([]event.Event, error) {
	return store.EventsOfRound(tx, correlation, limit)
}

func (record) Get(tx event.Tx, e id.ID) (event.Event, error) { return store.GetEvent(tx, e) }

func (record) Head(tx event.Tx) (bus.Tip, [32]byte, error) { return store.HeadOf(tx) }

func (record) Parked(tx event.Tx, limit int) ([]bus.Deferred, error) { return store.Parked(tx, limit) }

func (record) Held(tx event.Tx) ([]api.HeldWork, error) {
	rows, err := store.ListHeld(tx)
	out := make([]api.HeldWork, 0, len(rows))
	for _, r := range rows {
		out = append(out, api.HeldWork{Kind: string(r.Kind), ID: r.ID, Scope: r.Scope, Reason: r.Reason})
	}
	return out, err
}

// audit fills api.Audit: the journal as a proof.
type audit struct {
	db     *store.DB
	origin event.Origin
	may    func(ctx context.Context, account id.ID, by string, a identity.Act) error
}

func (p *parts) audit() audit { return audit{p.db, p.origins.audit, p.may} }

// may says whether a principal may do an act now, for what is no domain's.
func (p *parts) may(ctx context.Context, account id.ID, by string, a identity.Act) error {
	return p.db.View(ctx, account, func(tx event.Tx) error { return identity.May(tx, p.rows.identity, by, a) })
}

// unpark lets a parked stream go on for a person.
func (p *parts) unpark(ctx context.Context, account id.ID, by, subscriber string, stream id.ID, skip bool) error {
	if err := p.may(ctx, account, by, identity.ActJournalUnpark); err != nil {
		return err
	}
	return p.router.Unpark(ctx, account, by, subscriber, stream, skip)
}

// Verify implements api.Audit.
func (a audit) Verify(ctx context.Context, account id.ID, checkpoints []json.RawMessage, progress func(int64)) (api.Verified, error) {
	marks := make([]store.Checkpoint, len(checkpoints))
	for i, raw := range checkpoints {
		if err := json.Unmarshal(raw, &marks[i]); err != nil {
			return api.Verified{}, err
		}
	}
	r, err := store.VerifyProgress(ctx, a.db, account, marks, progress)
	if err != nil {
		return api.Verified{}, firstBad(account, err)
	}
	return api.Verified{Events: r.Events, Erased: r.Erased, Base: r.Base, Head: r.Head, Hash: hex.EncodeToString(r.Hash[:])}, nil
}

// Release implements api.Audit.
func (a audit) Release(ctx context.Context, account id.ID, by string) (work, timers int64, err error) {
	if err := a.may(ctx, account, by, identity.ActJournalUnpark); err != nil {
		return 0, 0, err
	}
	return a.db.ReleaseHeld(ctx, account, by, a.origin)
}

// Sign implements api.Audit.
func (a audit) Sign(ctx context.Context, account id.ID) (json.RawMessage, error) {
	c, err := a.db.SignCheckpoint(ctx, account, a.origin)
	if err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

// Export implements api.Audit.
func (a audit) Export(ctx context.Context, account id.ID, from, to int64, open bool, w io.Writer) (int64, int64, error) {
	return a.db.Export(ctx, account, from, to, open, w)
}

// speakers are the channels of the house.
func speakers() map[string]api.Speaker {
	return map[string]api.Speaker{
		cli.Name: func(s api.Said) channel.Inbound {
			return cli.Said{Account: s.Account, PersonID: s.PersonID, Name: s.Name, ThreadID: s.ThreadID, Text: s.Text, Agent: s.Agent, Key: s.Key}.Inbound()
		},
		console.Name: func(s api.Said) channel.Inbound {
			return console.Said{Account: s.Account, PersonID: s.PersonID, Name: s.Name, ThreadID: s.ThreadID, Text: s.Text, Agent: s.Agent, Nonce: s.Key, Files: s.Files}.Inbound()
		},
	}
}

// program fills api.HTTPChannel with one HTTP channel.
type program struct {
	channel *httpin.Channel
	intake  *channel.Intake
}

// Verify implements api.HTTPChannel.
func (p program) Verify(timestamp, signature string, body []byte, now time.Time) error {
	return p.channel.Verify(timestamp, signature, body, now)
}

// Receive implements api.HTTPChannel.
func (p program) Receive(ctx context.Context, who api.Program, key string, r api.Posted) (channel.Accepted, error) {
	return p.channel.Receive(ctx, p.intake, httpin.Caller{Account: who.Account, PersonID: who.PersonID, Name: who.Name, TokenID: who.TokenID, Signed: who.Signed}, key,
		httpin.Request{Text: r.Text, Sender: r.Sender, SenderName: r.SenderName, Thread: r.Thread, ThreadID: r.ThreadID, Agent: r.Agent, SentAt: r.SentAt, Cursor: r.Cursor, Files: r.Files})
}

// files fills api.Files from content-addressed storage.
type files struct{ folder *blob.Folder }

// Open implements api.Files.
func (f files) Open(account id.ID, digest string) (io.ReadCloser, int64, error) {
	return f.folder.Get(account, digest)
}

// SafeType implements api.Files.
func (files) SafeType(declared string) (string, bool) { return blob.SafeMediaType(declared) }

// ready says why the process cannot serve yet.
func (a *App) isReady(ctx context.Context) error {
	select {
	case <-a.ready:
	default:
		return fault.New(fault.Unavailable, "Witan is starting")
	}
	return a.parts.db.View(ctx, a.parts.account, func(tx event.Tx) error {
		_, _, err := store.HeadOf(tx)
		return err
	})
}
