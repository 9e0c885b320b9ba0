package api

import (
	"context"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func (a *API) threadRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/threads", identity.ActChatRead, "Threads, last changed first.", a.listThreads),
		on("GET", "/api/v1/threads/{id}", identity.ActChatRead, "One thread.", a.getThread),
		on("GET", "/api/v1/threads/{id}/turns", identity.ActChatRead, "The turns of a thread, newest first.", a.listTurns),
		raw("GET", "/api/v1/attachments/{digest}", identity.ActChatRead, "The content of an attachment.", "application/octet-stream", a.attachment, within(-1)),
	}
}

type threadView struct {
	ID        id.ID     `json:"id"`
	Turns     int       `json:"turns"`
	Runs      int       `json:"runs"`
	RunID     id.ID     `json:"runId,omitzero"` // the run that goes
	ChangedAt time.Time `json:"changedAt"`
	Last      *turnView `json:"last,omitempty"`
}

type turnView struct {
	ID        id.ID     `json:"id"`
	Seq       int       `json:"seq"`
	Role      string    `json:"role"`   // user, assistant, summary, note
	Author    string    `json:"author"` // principal
	Text      string    `json:"text"`   // "" once its subject was erased
	Label     string    `json:"label"`
	Channel   string    `json:"channel,omitempty"`
	Sender    string    `json:"sender,omitempty"`
	Files     string    `json:"files,omitempty"` // names, types and digests, one a line
	EventID   id.ID     `json:"eventId"`
	MessageID id.ID     `json:"messageId,omitzero"`
	RunID     id.ID     `json:"runId,omitzero"`
	Covers    int       `json:"covers,omitempty"` // turns that a summary stands for
	At        time.Time `json:"at"`
}

func viewTurn(t agent.Turn) turnView {
	return turnView{ID: t.ID, Seq: t.Seq, Role: string(t.Role), Author: t.Author, Text: t.Text, Label: t.Label.String(), Channel: t.Channel,
		Sender: t.Sender, Files: t.Files, EventID: t.EventID, MessageID: t.MessageID, RunID: t.RunID, Covers: t.Covers, At: t.At}
}

func (a *API) viewThread(tx event.Tx, t agent.Thread) (threadView, error) {
	v := threadView{ID: t.ID, Turns: t.Turns, Runs: t.Runs, RunID: t.Active, ChangedAt: t.Changed}
	last, err := a.Agents.Store.ListTurns(tx, t.ID, math.MaxInt32, 1)
	if len(last) > 0 {
		turn := viewTurn(last[0])
		v.Last = &turn
	}
	return v, err
}

func (a *API) listThreads(ctx context.Context, _ *call, in beforeIn) (list[threadView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[threadView]{}, err
	}
	before := time.UnixMicro(math.MaxInt64 / 2).UTC()
	if in.Before > 0 {
		before = clock.FromMicros(in.Before)
	}
	return see(ctx, a, func(tx event.Tx) (list[threadView], error) {
		out := list[threadView]{Items: []threadView{}}
		rows, err := a.Agents.Store.ListThreads(tx, before, n)
		for _, t := range rows {
			v, err := a.viewThread(tx, t)
			if err != nil {
				return out, err
			}
			out.Items = append(out.Items, v)
		}
		if len(rows) == n {
			out.Next = strconv.FormatInt(clock.Micros(rows[n-1].Changed), 10)
		}
		return out, err
	})
}

func (a *API) getThread(ctx context.Context, _ *call, in idIn) (threadView, error) {
	return see(ctx, a, func(tx event.Tx) (threadView, error) {
		t, err := a.Agents.Store.GetThread(tx, in.ID)
		if err != nil {
			return threadView{}, err
		}
		return a.viewThread(tx, t)
	})
}

type turnsIn struct {
	ID     id.ID `path:"id"`
	Before int   `query:"before" doc:"the seq of the last one of the page before"`
	Limit  int   `query:"limit"`
}

func (a *API) listTurns(ctx context.Context, _ *call, in turnsIn) (list[turnView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[turnView]{}, err
	}
	or(&in.Before, math.MaxInt32)
	rows, err := see(ctx, a, func(tx event.Tx) ([]agent.Turn, error) {
		if _, err := a.Agents.Store.GetThread(tx, in.ID); err != nil {
			return nil, err
		}
		return a.Agents.Store.ListTurns(tx, in.ID, in.Before, n)
	})
	out := listOf(rows, viewTurn)
	if len(rows) == n {
		out.Next = strconv.Itoa(rows[n-1].Seq)
	}
	return out, err
}

type digestIn struct {
	Digest string `path:"digest"`
}

// attachment serves content that a message of the account names, and nothing
// else; a browser shows only what it cannot run.
func (a *API) attachment(ctx context.Context, c *call, in digestIn) error {
	if a.Files == nil {
		return fault.New(fault.NotFound, "no files are kept here")
	}
	known, err := a.Intake.Attachment(ctx, a.Account, in.Digest)
	if err != nil {
		return err
	}
	f, size, err := a.Files.Open(a.Account, in.Digest)
	if err != nil {
		return err
	}
	defer f.Close()
	media, inline := a.Files.SafeType(known.Type)
	place := "attachment"
	if inline {
		place = "inline"
	}
	h := c.w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType(place, map[string]string{"filename": known.Name}))
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	c.w.WriteHeader(http.StatusOK)
	_, err = io.Copy(c.w, f)
	return err
}
