package channeldb_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store/channeldb"
	"github.com/witan-run/witan/internal/store/storetest"
)

// memoryBlobs is content-addressed storage that forgets.
type memoryBlobs struct{}

func (memoryBlobs) Put(_ context.Context, _ id.ID, r io.Reader, limit int64) (string, int64, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fault.New(fault.Limited, "more than %d bytes", limit)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), int64(len(b)), err
}

type bundle struct {
	*storetest.DB
	in *channel.Intake
}

func intake(t testing.TB, db *storetest.DB) *channel.Intake {
	t.Helper()
	in, err := channel.NewIntake(db.Journal, channeldb.New(), memoryBlobs{}, channel.Origins{
		Channel: storetest.Origin(t, event.LayerChannel, event.ClassChannel, "channel", "inbound.message", "inbound.event", "channel.changed"),
	}, channel.DefaultCap())
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func setup(t testing.TB, db *storetest.DB) *bundle {
	t.Helper()
	return &bundle{DB: db, in: intake(t, db)}
}

// said is a message of a stranger with a provider id.
func (b *bundle) said(provider, text string) channel.Inbound {
	return channel.Inbound{Account: b.Account, Channel: "mail", ProviderID: provider, Thread: "t1",
		Sender: "ann@example.org", Proof: channel.ProofNone, Text: text}
}

func (b *bundle) accept(t testing.TB, m channel.Inbound) channel.Accepted {
	t.Helper()
	a, err := b.in.Accept(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// of returns the events of one type.
func (b *bundle) of(t testing.TB, typ event.Type) (out []event.Event) {
	t.Helper()
	for _, e := range b.Events(t) {
		if e.Type == typ {
			out = append(out, e)
		}
	}
	return out
}
