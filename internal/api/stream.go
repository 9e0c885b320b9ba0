package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) streamRoutes() []Route {
	return []Route{raw("GET", "/api/v1/stream", identity.ActJournalRead,
		"New events as they are committed (text/event-stream): id EPOCH-SEQ, data {seq,id,type,stream,correlation}. An event of type reset says that the position belongs to an epoch that is over.",
		"text/event-stream", a.stream, within(-1), queryToken())}
}

type streamIn struct {
	After string `query:"after" doc:"EPOCH-SEQ: from behind this event on; from now on, if left out"`
	Last  string `header:"Last-Event-ID" doc:"EPOCH-SEQ; it wins over after, as a browser sends it when it reconnects"`
}

// markView is what the stream says of an event: enough to know what to read again.
type markView struct {
	Seq    int64  `json:"seq"`
	ID     id.ID  `json:"id"`
	Type   string `json:"type"`
	Stream id.ID  `json:"stream"`
	Round  id.ID  `json:"correlation"`
}

func (a *API) stream(ctx context.Context, c *call, in streamIn) error {
	from, err := in.from()
	if err != nil {
		return err
	}
	leave, err := a.readers.enter(c.who.By())
	if err != nil {
		return err
	}
	defer leave()
	ctx, done, err := a.stay(ctx)
	if err != nil {
		return err
	}
	defer done()
	tip, err := see(ctx, a, func(tx event.Tx) (bus.Tip, error) {
		tip, _, err := a.Record.Head(tx)
		return tip, err
	})
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy that collects would hold events back
	c.w.WriteHeader(http.StatusOK)
	s := &stream{to: c.w, rc: http.NewResponseController(c.w), limit: a.Limits.WriteTimeout}
	if s.at, err = s.open(from, tip); err != nil {
		return nil // the reader is gone; there is nobody to tell
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beat sync.WaitGroup
	beat.Go(func() { cancel(a.beat(ctx, c, s)) })
	err = a.Tails.Follow(ctx, a.Account, s.at, s.send)
	cancel(err)
	beat.Wait()
	_ = s.rc.SetWriteDeadline(time.Time{})
	return nil // the end of the connection is the end of the stream
}

func (in streamIn) from() (bus.Tip, error) {
	word, field := in.Last, "Last-Event-ID"
	if word == "" {
		word, field = in.After, "after"
	}
	if word == "" {
		return bus.Tip{}, nil
	}
	t, ok := parsePosition(word)
	if !ok {
		return t, fault.New(fault.Invalid, "it must be EPOCH-SEQ").On(field)
	}
	return t, nil
}

// errGone ends a stream whose credential no longer works.
var errGone = errors.New("the credential ended")

// beat writes a comment every so often, so that both ends notice a dead line,
// and looks at the credential each time: a stream does not outlive it for long.
func (a *API) beat(ctx context.Context, c *call, s *stream) error {
	t := time.NewTicker(a.Limits.Heartbeat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.C:
		}
		who, err := a.identify(c.r.WithContext(ctx), true)
		if err == nil {
			err = identity.Authorize(who, c.route.Act, a.Clock.Now())
		}
		// A database that does not answer is no revocation.
		if err != nil && !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Timeout) {
			return errGone
		}
		if err := s.comment(); err != nil {
			return err
		}
	}
}

// stream writes text/event-stream (WHATWG HTML §9.2). Each write has a deadline:
// a reader that takes nothing is dropped, and reads what it missed when it comes
// back.
type stream struct {
	rc    *http.ResponseController
	limit time.Duration

	mu    sync.Mutex
	to    http.ResponseWriter // guarded by mu
	at    bus.Tip             // guarded by mu once it is open; what the reader has
	buf   bytes.Buffer        // guarded by mu
	beats int                 // guarded by mu
}

// open says where the reader stands, before any event, and returns it: it can
// resume from there even if it never gets one.
func (s *stream) open(from, tip bus.Tip) (bus.Tip, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.WriteString("retry: 2000\n")
	switch {
	case from == (bus.Tip{}):
		from = tip
		s.buf.WriteString("id: " + position(tip) + "\n\n")
	case from.Epoch != tip.Epoch || from.Seq > tip.Seq:
		from = tip
		s.buf.WriteString("id: " + position(tip) + "\n")
		s.reset(tip.Epoch)
	default:
		s.buf.WriteString("\n")
	}
	return from, s.flush()
}

func (s *stream) reset(epoch int64) {
	s.buf.WriteString("event: reset\ndata: {\"epoch\":" + strconv.FormatInt(epoch, 10) + "}\n\n")
}

// send writes a batch. A feed that lags behind the head that the reader began at
// calls its position unknown and begins anew a little earlier: what the reader
// has is left out, and only another epoch is a reset.
func (s *stream) send(b bus.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Reset && b.Epoch != s.at.Epoch {
		s.at = bus.Tip{Epoch: b.Epoch}
		s.reset(b.Epoch)
	}
	for _, m := range b.Marks {
		if m.Seq <= s.at.Seq {
			continue
		}
		s.at.Seq = m.Seq
		data, err := json.Marshal(markView{Seq: m.Seq, ID: m.ID, Type: string(m.Type), Stream: m.Stream, Round: m.Correlation})
		if err != nil {
			return err
		}
		s.buf.WriteString("id: " + position(bus.Tip{Epoch: b.Epoch, Seq: m.Seq}) + "\ndata: ")
		s.buf.Write(data)
		s.buf.WriteString("\n\n")
	}
	if s.buf.Len() == 0 {
		return nil
	}
	return s.flush()
}

func (s *stream) comment() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beats++
	s.buf.WriteString(": " + strconv.Itoa(s.beats) + "\n\n")
	return s.flush()
}

// flush writes what was collected. mu is held.
func (s *stream) flush() error {
	defer s.buf.Reset()
	// The deadline is the network's, not anything that is recorded.
	if err := s.rc.SetWriteDeadline(clock.System{}.Now().Add(s.limit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.to.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.rc.Flush()
}
