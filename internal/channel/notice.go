package channel

import (
	"context"
	"encoding/json"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// NoticeDelivery is the kind of a notice about a message of ours: its
// ProviderID is the medium's id of that message, its data {"state": "delivered"},
// "read" or "failed". Dispatch turns it into a delivery.receipt.
const NoticeDelivery = "delivery"

// Notice is something other than a message that a medium reports.
type Notice struct {
	Account    id.ID
	Channel    string
	Kind       string // a code: delivery, reaction, member_joined
	ProviderID string // of the message it is about, or of the notice
	ThreadID   id.ID
	Data       json.RawMessage // an object, within Cap.NoticeBytes
	Proven     bool            // the medium itself says so, not somebody on it
	Cursor     string
}

// Notify takes one notice in as inbound.event. The same notice again is a
// repeat: the first event's id comes back.
func (in *Intake) Notify(ctx context.Context, n Notice) (Accepted, error) {
	if err := n.check(in.caps); err != nil {
		return Accepted{}, err
	}
	data := json.RawMessage(nil)
	if len(n.Data) > 0 {
		c, err := canon.Canonicalize(n.Data)
		if err != nil {
			return Accepted{}, fault.New(fault.Invalid, "the data is no JSON that can be kept: %w", err).On("data")
		}
		data = c
	}
	sum := canon.Digest("witan/notice", []byte(n.Channel), []byte(n.Kind), []byte(n.ProviderID), data)
	row := Inboxed{Channel: n.Channel, Digest: sum[:]}
	if n.ProviderID != "" {
		row.Key = sum[:]
	}
	integrity := event.Outside
	if n.Proven {
		integrity = event.Known
	}
	var out Accepted
	err := in.once(ctx, n.Account, func(tx event.Tx) error {
		if row.Key != nil {
			first, err := in.store.FindInbox(tx, n.Channel, row.Key)
			if err == nil {
				out = Accepted{MessageID: first.MessageID, ThreadID: first.ThreadID, Repeat: true}
				return in.moveCursor(tx, n.Channel, n.Cursor)
			}
			if !fault.Is(err, fault.NotFound) {
				return err
			}
		}
		row.MessageID, row.ThreadID, row.At = tx.NewID(), n.ThreadID, tx.Now()
		if err := in.reserve(tx, row); err != nil {
			return err
		}
		if _, err := tx.Emit(in.origins.Channel.As(n.Channel), event.Draft{
			Payload: event.InboundEvent{Channel: n.Channel, Kind: n.Kind, ProviderID: n.ProviderID, ThreadID: n.ThreadID, Data: data},
			Summary: "The channel " + n.Channel + " reports: " + n.Kind + ".",
			Stream:  n.ThreadID, Label: event.NewLabel(integrity, event.Public()),
		}); err != nil {
			return err
		}
		out = Accepted{MessageID: row.MessageID, ThreadID: row.ThreadID}
		return in.moveCursor(tx, n.Channel, n.Cursor)
	})
	return out, err
}

func (n *Notice) check(c Cap) error {
	if err := CheckName("channel", n.Channel); err != nil {
		return err
	}
	if !codeForm.MatchString(n.Kind) {
		return fault.New(fault.Invalid, "%q is no kind of a notice", clip(n.Kind)).On("kind")
	}
	if n.Account.IsZero() {
		return fault.New(fault.Invalid, "no account").On("account")
	}
	for _, f := range []struct {
		field, text string
		limit       int
	}{{"providerId", n.ProviderID, maxProvider}, {"data", string(n.Data), c.NoticeBytes}, {"cursor", n.Cursor, maxCursor}} {
		if err := CheckText(f.field, f.text, f.limit); err != nil {
			return err
		}
	}
	return nil
}
