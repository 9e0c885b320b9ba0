package channel

import (
	"context"
	"regexp"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

var codeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// SetConnected records whether a channel is connected; reason is a code that
// says why it is not ("dial_failed"). channel.changed is said on a change only,
// so an adapter may call it after every try.
func (in *Intake) SetConnected(ctx context.Context, account id.ID, channel string, connected bool, reason string) error {
	if err := CheckName("channel", channel); err != nil {
		return err
	}
	if connected {
		reason = ""
	} else if !codeForm.MatchString(reason) {
		return fault.New(fault.Invalid, "%q is no code: an absence needs a reason like dial_failed", clip(reason)).On("reason")
	}
	if same, err := in.isState(ctx, account, channel, connected, reason); err != nil || same {
		return err
	}
	return in.journal.Do(ctx, account, func(tx event.Tx) error {
		changed, err := in.store.SaveState(tx, State{Channel: channel, Connected: connected, Reason: reason, At: tx.Now()})
		if err != nil || !changed {
			return err
		}
		summary := "The channel " + channel + " is connected."
		if !connected {
			summary = "The channel " + channel + " is away: " + reason + "."
		}
		_, err = tx.Emit(in.origins.Channel.As(channel), event.Draft{
			Payload: event.ChannelChanged{Channel: channel, Connected: connected, Reason: reason},
			Summary: summary, Label: event.NewLabel(event.House, event.AccountWide()),
		})
		return err
	})
}

// isState spares the write lane what changes nothing.
func (in *Intake) isState(ctx context.Context, account id.ID, channel string, connected bool, reason string) (bool, error) {
	all, err := in.States(ctx, account)
	for _, s := range all {
		if s.Channel == channel {
			return s.Connected == connected && s.Reason == reason, err
		}
	}
	return false, err
}

// States returns the last known state of every channel that ever said one, by name.
func (in *Intake) States(ctx context.Context, account id.ID) ([]State, error) {
	var out []State
	err := in.journal.View(ctx, account, func(tx event.Tx) error {
		var err error
		out, err = in.store.ListStates(tx)
		return err
	})
	return out, err
}

// Cursor returns a medium's place: where an adapter goes on after a restart.
// It is "" before the first message.
func (in *Intake) Cursor(ctx context.Context, account id.ID, channel string) (string, error) {
	var out string
	err := in.journal.View(ctx, account, func(tx event.Tx) error {
		var err error
		out, err = in.store.GetCursor(tx, channel)
		if fault.Is(err, fault.NotFound) {
			out, err = "", nil
		}
		return err
	})
	return out, err
}

// SetCursor moves a medium's place without a message: past what an adapter
// looked at and rightly left alone.
func (in *Intake) SetCursor(ctx context.Context, account id.ID, channel, value string) error {
	if err := CheckName("channel", channel); err != nil {
		return err
	}
	if err := CheckText("cursor", value, maxCursor); err != nil {
		return err
	}
	return in.journal.Do(ctx, account, func(tx event.Tx) error { return in.store.SaveCursor(tx, channel, value) })
}

// Threads returns the threads that a person opened, newest first, older than
// before (zero: from the newest).
func (in *Intake) Threads(ctx context.Context, account, person, before id.ID, limit int) ([]Thread, error) {
	var out []Thread
	err := in.journal.View(ctx, account, func(tx event.Tx) error {
		var err error
		out, err = in.store.ListThreads(tx, person, before, limit)
		return err
	})
	return out, err
}

// Attachment returns what is known of stored content that a message of the
// account names; fault.NotFound if none does. Nothing else may be served.
func (in *Intake) Attachment(ctx context.Context, account id.ID, digest string) (Attached, error) {
	var out Attached
	err := in.journal.View(ctx, account, func(tx event.Tx) error {
		var err error
		out, err = in.store.GetAttachment(tx, digest)
		return err
	})
	return out, err
}
