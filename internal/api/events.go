package api

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) eventRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/events", identity.ActJournalRead, "The journal: newest first, or with after in its own order.", a.listEvents),
		on("GET", "/api/v1/events/{id}", identity.ActJournalRead, "One event, by id or by seq.", a.getEvent),
		on("GET", "/api/v1/events/{id}/tree", identity.ActJournalRead, "The round trip that an event belongs to: all that was caused together, in order.", a.eventTree),
	}
}

// eventView is one entry of the journal, opened.
type eventView struct {
	Seq         int64          `json:"seq"`
	ID          id.ID          `json:"id"`
	Type        string         `json:"type"`
	Version     int            `json:"version"`
	Layer       string         `json:"sourceLayer"`
	Source      string         `json:"sourceId"`
	Stream      id.ID          `json:"stream"`
	Addressee   id.ID          `json:"addressee,omitzero"`
	Parent      id.ID          `json:"parentEventId,omitzero"`
	Parents     []id.ID        `json:"parents,omitempty"`
	Correlation id.ID          `json:"correlation"`
	OccurredAt  time.Time      `json:"occurredAt"`
	RecordedAt  time.Time      `json:"recordedAt"`
	Label       string         `json:"label"`
	Evidence    []evidenceView `json:"evidence,omitempty"`
	Hash        string         `json:"hash"`
	Summary     string         `json:"summary,omitempty"`
	Payload     event.Payload  `json:"payload,omitempty"`
	Erased      bool           `json:"erased,omitempty"` // its subject's key was destroyed
	Depth       int            `json:"depth,omitempty"`  // in a tree: steps from its root
}

func viewEvent(e event.Event) eventView {
	return eventView{Seq: e.Seq, ID: e.ID, Type: string(e.Type), Version: e.Version, Layer: e.Layer.String(), Source: e.Source, Stream: e.Stream,
		Addressee: e.Addressee, Parent: e.Causation, Parents: e.Parents, Correlation: e.Correlation, OccurredAt: e.OccurredAt, RecordedAt: e.RecordedAt,
		Label: e.Label.String(), Evidence: viewEvidence(e.Evidence), Hash: hex.EncodeToString(e.Hash[:]), Summary: e.Summary, Payload: e.Payload, Erased: e.Erased}
}

type eventsIn struct {
	After       string `query:"after" doc:"SEQ or EPOCH-SEQ: what comes behind it, in order"`
	Before      string `query:"before" doc:"SEQ or EPOCH-SEQ: what comes before it, newest first"`
	Type        string `query:"type" doc:"a type, or its beginning with a dot: approval."`
	Actor       string `query:"actor" doc:"source id, such as agent/coordinator, or one half of it"`
	Correlation id.ID  `query:"correlation"`
	Stream      id.ID  `query:"stream"`
	Limit       int    `query:"limit"`
}

func (in eventsIn) fits(e event.Event) bool {
	return (in.Type == "" || string(e.Type) == in.Type || strings.HasSuffix(in.Type, ".") && strings.HasPrefix(string(e.Type), in.Type)) &&
		(in.Actor == "" || said(e.Source, in.Actor)) && (in.Correlation.IsZero() || e.Correlation == in.Correlation) &&
		(in.Stream.IsZero() || e.Stream == in.Stream)
}

// said reports whether a source_id is an actor's: COMPONENT/NAME is found by
// either half, and as a whole.
func said(source, actor string) bool {
	return source == actor || strings.HasPrefix(source, actor+"/") || strings.HasSuffix(source, "/"+actor)
}

type eventsView struct {
	Items []eventView `json:"items"`
	// Next goes into after or before, whichever was used; "" at the end of the
	// journal. A filtered page may be short, or empty, and still have a next one.
	Next string `json:"next,omitempty"`
	Tip  string `json:"tip"` // EPOCH-SEQ of the last event: where to follow from
}

// scanMost bounds how many events one filtered page looks at.
const scanMost = 2000

func (a *API) listEvents(ctx context.Context, _ *call, in eventsIn) (eventsView, error) {
	n, err := page(in.Limit)
	if err != nil {
		return eventsView{}, err
	}
	if in.After != "" && in.Before != "" {
		return eventsView{}, fault.New(fault.Invalid, "it takes after or before, one of the two").On("before")
	}
	forward := in.After != ""
	return see(ctx, a, func(tx event.Tx) (eventsView, error) {
		out := eventsView{Items: []eventView{}}
		tip, _, err := a.Record.Head(tx)
		if err != nil {
			return out, err
		}
		out.Tip = position(tip)
		at := tip.Seq + 1
		for name, word := range map[string]string{"after": in.After, "before": in.Before} {
			if word != "" {
				if at, err = seqOf(name, word, tip.Epoch); err != nil {
					return out, err
				}
			}
		}
		if !in.Correlation.IsZero() {
			return a.round(tx, in, n, at, forward, out)
		}
		return a.scan(tx, in, n, at, forward, out)
	})
}

// scan reads the journal page by page until enough events fit.
func (a *API) scan(tx event.Tx, in eventsIn, n int, at int64, forward bool, out eventsView) (eventsView, error) {
	read := a.Record.Before
	if forward {
		read = a.Record.After
	}
	for seen := 0; seen < scanMost; {
		rows, err := read(tx, at, pageMost)
		if err != nil {
			return out, err
		}
		for _, e := range rows {
			at = e.Seq
			if in.fits(e) {
				out.Items = append(out.Items, viewEvent(e))
			}
			if len(out.Items) == n {
				out.Next = strconv.FormatInt(at, 10)
				return out, nil
			}
		}
		if seen += len(rows); len(rows) < pageMost {
			return out, nil
		}
	}
	out.Next = strconv.FormatInt(at, 10)
	return out, nil
}

// roundMost bounds a round trip; longer ones are read through the journal.
const roundMost = 2000

func (a *API) round(tx event.Tx, in eventsIn, n int, at int64, forward bool, out eventsView) (eventsView, error) {
	rows, err := a.Record.OfRound(tx, in.Correlation, roundMost)
	if err != nil {
		return out, err
	}
	for i := range rows {
		e := rows[i]
		if !forward {
			e = rows[len(rows)-1-i]
		}
		if !in.fits(e) || forward && e.Seq <= at || !forward && e.Seq >= at {
			continue
		}
		if len(out.Items) == n {
			out.Next = strconv.FormatInt(out.Items[n-1].Seq, 10)
			break
		}
		out.Items = append(out.Items, viewEvent(e))
	}
	return out, nil
}

func (a *API) findEvent(tx event.Tx, word string) (event.Event, error) {
	if seq, err := strconv.ParseInt(word, 10, 64); err == nil && len(word) < 20 {
		rows, err := a.Record.After(tx, seq-1, 1)
		if err == nil && (len(rows) == 0 || rows[0].Seq != seq) {
			err = fault.New(fault.NotFound, "there is no event %d", seq).On("id")
		}
		if err != nil {
			return event.Event{}, err
		}
		return rows[0], nil
	}
	v, err := id.Parse(word)
	if err != nil || v.IsZero() {
		return event.Event{}, fault.New(fault.NotFound, "there is no such event").On("id")
	}
	return a.Record.Get(tx, v)
}

func (a *API) getEvent(ctx context.Context, _ *call, in wordIn) (eventView, error) {
	e, err := see(ctx, a, func(tx event.Tx) (event.Event, error) { return a.findEvent(tx, in.ID) })
	if err != nil {
		return eventView{}, err
	}
	return viewEvent(e), nil
}

type treeView struct {
	Correlation id.ID       `json:"correlation"`
	Items       []eventView `json:"items"`
	More        bool        `json:"more,omitempty"` // there are more than these
}

func (a *API) eventTree(ctx context.Context, _ *call, in wordIn) (treeView, error) {
	return see(ctx, a, func(tx event.Tx) (treeView, error) {
		e, err := a.findEvent(tx, in.ID)
		if err != nil {
			return treeView{}, err
		}
		rows, err := a.Record.OfRound(tx, e.Correlation, roundMost)
		v := treeView{Correlation: e.Correlation, Items: []eventView{}, More: len(rows) == roundMost}
		depth := map[id.ID]int{}
		for _, e := range rows {
			item := viewEvent(e)
			if d, ok := depth[e.Causation]; ok {
				item.Depth = d + 1
			}
			depth[e.ID] = item.Depth
			v.Items = append(v.Items, item)
		}
		return v, err
	})
}

// position renders a place in the journal: EPOCH-SEQ.
func position(t bus.Tip) string {
	return strconv.FormatInt(t.Epoch, 10) + "-" + strconv.FormatInt(t.Seq, 10)
}

// parsePosition is the inverse of position.
func parsePosition(s string) (bus.Tip, bool) {
	e, q, ok := strings.Cut(s, "-")
	epoch, err1 := strconv.ParseInt(e, 10, 64)
	seq, err2 := strconv.ParseInt(q, 10, 64)
	return bus.Tip{Epoch: epoch, Seq: seq}, ok && err1 == nil && err2 == nil && epoch > 0 && seq >= 0
}

// seqOf reads SEQ or EPOCH-SEQ. A position of an epoch that is over is Stale:
// the same number means another event now.
func seqOf(field, word string, epoch int64) (int64, error) {
	if n, err := strconv.ParseInt(word, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	t, ok := parsePosition(word)
	switch {
	case !ok:
		return 0, fault.New(fault.Invalid, "it must be SEQ or EPOCH-SEQ").On(field)
	case t.Epoch != epoch:
		return 0, fault.New(fault.Stale, "this position belongs to an epoch that is over").On(field).WithFix("read from the start again")
	}
	return t.Seq, nil
}
