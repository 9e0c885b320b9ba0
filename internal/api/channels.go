package api

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"time"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// The headers of a signed request (package channel/httpin).
const (
	headerTimestamp = "Witan-Timestamp"
	headerSignature = "Witan-Signature"
)

func (a *API) channelRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/channels", identity.ActChannelRead, "Channels, and whether they are connected.", a.listChannels),
		on("POST", "/api/v1/channels/{name}/messages", identity.ActMessageSend,
			"Hand over a message that an outside program heard. Answered once the journal has it. JSON, or multipart/form-data with the JSON in a part named message and files in the others.",
			a.receive, status(http.StatusAccepted), atMost(a.Limits.Upload), within(uploadTime), accepts("application/json", "multipart/form-data"), signed()),
		on("GET", "/api/v1/channels/{name}/messages/{id}", identity.ActChatRead, "What became of a message on this channel, and the answers to it.", a.received),
	}
}

type channelView struct {
	Name      string    `json:"name"`
	Trust     string    `json:"trust"` // high, medium, low
	Push      bool      `json:"push"`  // messages are carried to it; otherwise they are fetched
	Connected bool      `json:"connected"`
	Reason    string    `json:"reason,omitempty"`
	At        time.Time `json:"at,omitzero"`
}

func (a *API) listChannels(ctx context.Context, _ *call, _ none) (list[channelView], error) {
	states, err := a.Intake.States(ctx, a.Account)
	known := map[string]channel.State{}
	for _, s := range states {
		known[s.Channel] = s
	}
	return listOf(a.Hub.Names(), func(name string) channelView {
		t, _ := a.Hub.Traits(name)
		v := channelView{Name: name, Trust: string(t.Trust), Push: t.Push, Connected: true} // a pull channel is always there
		if s, ok := known[name]; ok {
			v.Connected, v.Reason, v.At = s.Connected, s.Reason, s.At
		}
		return v
	}), err
}

type postedBody struct {
	Text        string       `json:"text"`
	Sender      string       `json:"sender,omitempty" doc:"an address on this channel; left out, the token's own person speaks"`
	SenderName  string       `json:"senderName,omitempty"`
	Thread      string       `json:"thread,omitempty" doc:"the program's name of the conversation"`
	ThreadID    id.ID        `json:"threadId,omitzero" doc:"ours"`
	Agent       string       `json:"agent,omitempty"`
	SentAt      int64        `json:"sentAt,omitempty" doc:"microseconds since 1970"`
	Cursor      string       `json:"cursor,omitempty" doc:"the program's place, kept for it"`
	Attachments []attachment `json:"attachments,omitempty"`
}

type receiveIn struct {
	Name      string `path:"name"`
	Key       string `header:"Idempotency-Key" doc:"required: the same key again is the same message"`
	Timestamp string `header:"Witan-Timestamp" doc:"of a signed request, Unix seconds"`
	Signature string `header:"Witan-Signature" doc:"of a signed request"`
	Body      []byte `schema:"posted"`
}

func (a *API) httpChannel(name string) (HTTPChannel, error) {
	if ch, ok := a.HTTP[name]; ok {
		return ch, nil
	}
	return nil, fault.New(fault.NotFound, "there is no such channel for programs").On("name")
}

// receive takes a program's message. A signature proves the sender that it
// names; a token proves the program only.
func (a *API) receive(ctx context.Context, c *call, in receiveIn) (acceptedView, error) {
	ch, err := a.httpChannel(in.Name)
	if err != nil {
		return acceptedView{}, err
	}
	who := Program{Account: a.Account, PersonID: c.who.PersonID, Name: c.who.Name, TokenID: c.who.TokenID}
	if in.Signature != "" {
		if err := ch.Verify(in.Timestamp, in.Signature, in.Body, a.Clock.Now()); err != nil {
			return acceptedView{}, err
		}
		who.Signed = true
	}
	body, files, err := readPosted(c.r.Header.Get("Content-Type"), in.Body)
	if err != nil {
		return acceptedView{}, err
	}
	stored, err := a.store(ctx, append(body.Attachments, files...))
	if err != nil {
		return acceptedView{}, err
	}
	acc, err := ch.Receive(ctx, who, in.Key, Posted{Text: body.Text, Sender: body.Sender, SenderName: body.SenderName, Thread: body.Thread,
		ThreadID: body.ThreadID, Agent: body.Agent, SentAt: body.SentAt, Cursor: body.Cursor, Files: stored})
	if err != nil {
		return acceptedView{}, err
	}
	return a.accepted(ctx, acc)
}

// readPosted reads the JSON form, or the multipart form with files as they are.
func readPosted(contentType string, raw []byte) (body postedBody, files []attachment, err error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/form-data" {
		return body, nil, decode(raw, &body)
	}
	broken := fault.New(fault.Invalid, "the form cannot be read").On("body")
	form := multipart.NewReader(bytes.NewReader(raw), params["boundary"])
	said := false
	for range maxFiles + 2 {
		part, err := form.NextPart()
		if err == io.EOF && said { //nolint:errorlint // NextPart documents it as it is
			return body, files, nil
		}
		if err != nil {
			return body, nil, broken
		}
		data, err := io.ReadAll(part) // the whole body is bounded
		switch {
		case err != nil:
			return body, nil, broken
		case part.FormName() == "message" && !said:
			said = true
			if err := decode(data, &body); err != nil {
				return body, nil, err
			}
		case part.FileName() == "":
			return body, nil, fault.New(fault.Invalid, "a form has one part named message; every other is a file with a name").On("body")
		default:
			files = append(files, attachment{Name: part.FileName(), Type: part.Header.Get("Content-Type"), Data: data})
		}
	}
	return body, nil, fault.New(fault.Limited, "a message has at most %d files", maxFiles).On("attachments")
}

type receivedIn struct {
	Name string `path:"name"`
	ID   id.ID  `path:"id"`
}

func (a *API) received(ctx context.Context, _ *call, in receivedIn) (messageView, error) {
	if _, err := a.httpChannel(in.Name); err != nil {
		return messageView{}, err
	}
	v, err := a.fate(ctx, in.ID)
	if err == nil && v.Channel != in.Name {
		err = fault.New(fault.NotFound, "there is no such message").On("id")
	}
	if err != nil {
		return messageView{}, err
	}
	return v, nil
}
