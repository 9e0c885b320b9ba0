package bus

import (
	"context"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Deliver reads a committed event back and wraps it for a worker. It is the
// one place where a Delivery is made (architecture §3): holding one proves that
// the journal has the event, so no layer can act around the gate.
func Deliver[P event.Payload](ctx context.Context, e Engine, account, ev id.ID) (d event.Delivery[P], err error) {
	var got event.Event
	if err := e.View(ctx, account, func(tx event.Tx) (err error) {
		got, err = e.GetEvent(tx, ev)
		return err
	}); err != nil {
		return d, err
	}
	return event.NewDelivery[P](got)
}
