package api

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

func noAddress() error {
	return fault.New(fault.NotFound, "the contact has no such address").On("address")
}

func (a *API) heldRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/held", identity.ActInboxRead, "Messages that wait for a person, oldest first.", a.listHeld),
		on("POST", "/api/v1/held/{id}", identity.ActHeldDecide, "Decide about a held message.", a.decideHeld),
	}
}

// heldView is a held message. What the sender wrote is a stranger's text.
type heldView struct {
	ID         id.ID     `json:"id"`
	MessageID  id.ID     `json:"messageId"`
	ThreadID   id.ID     `json:"threadId"`
	EventID    id.ID     `json:"eventId"`
	Channel    string    `json:"channel"`
	ContactID  id.ID     `json:"contactId,omitzero"`
	Reason     string    `json:"reason"` // unknown_sender, provisional_sender, unproven_sender, rate_limited, untrusted
	Proven     bool      `json:"proven"` // the sender's address was proven
	Sender     string    `json:"sender"`
	SenderName string    `json:"senderName,omitempty"` // as the sender claims
	Text       string    `json:"text"`
	Files      int       `json:"files"`
	Label      string    `json:"label"`
	At         time.Time `json:"at"`
	Erased     bool      `json:"erased,omitempty"`
}

func viewHeld(h dispatch.HeldMessage) heldView {
	return heldView{ID: h.ID, MessageID: h.MessageID, ThreadID: h.ThreadID, EventID: h.EventID, Channel: h.Channel, ContactID: h.ContactID, Reason: h.Reason,
		Proven: h.Proven, Sender: h.Message.Sender, SenderName: h.Message.SenderName, Text: h.Message.Text, Files: len(h.Message.Attachments),
		Label: h.Label.String(), At: h.At, Erased: h.Erased}
}

type afterIn struct {
	After id.ID `query:"after"`
	Limit int   `query:"limit"`
}

type heldList struct {
	list[heldView]
	InAll int64 `json:"inAll"`
}

func (a *API) listHeld(ctx context.Context, _ *call, in afterIn) (heldList, error) {
	n, err := page(in.Limit)
	if err != nil {
		return heldList{}, err
	}
	rows, all, err := a.Dispatch.HeldMessages(ctx, a.Account, in.After, n)
	out := heldList{listOf(rows, viewHeld), all}
	if len(rows) == n {
		out.Next = rows[n-1].ID.String()
	}
	return out, err
}

type heldIn struct {
	ID   id.ID `path:"id"`
	Body struct {
		Action    string `json:"action" required:"true" doc:"identify (say who the sender is), release (let this one through), dismiss, block"`
		ContactID id.ID  `json:"contactId,omitzero" doc:"with identify: a contact that exists"`
		Name      string `json:"name,omitempty" doc:"with identify: the name of a new one"`
	}
}

type heldDone struct {
	Contact *contactView `json:"contact,omitempty"` // of identify
}

func (a *API) decideHeld(ctx context.Context, c *call, in heldIn) (heldDone, error) {
	by := c.who.PersonID
	switch in.Body.Action {
	case "identify":
		row, err := a.Dispatch.Identify(ctx, a.Account, by, in.ID, dispatch.Who{ContactID: in.Body.ContactID, Name: in.Body.Name})
		if err != nil {
			return heldDone{}, err
		}
		v := viewContact(row)
		return heldDone{&v}, nil
	case "release":
		return heldDone{}, a.Dispatch.Release(ctx, a.Account, by, in.ID)
	case "dismiss":
		return heldDone{}, a.Dispatch.Dismiss(ctx, a.Account, by, in.ID)
	case "block":
		return heldDone{}, a.Dispatch.Block(ctx, a.Account, by, in.ID)
	}
	return heldDone{}, fault.New(fault.Invalid, "it must be identify, release, dismiss or block").On("action")
}

func (a *API) deliveryRoutes() []Route {
	return []Route{
		on("GET", "/api/v1/deliveries", identity.ActInboxRead, "Messages that did not arrive, or may not have, oldest first.", a.listDeliveries),
		on("POST", "/api/v1/deliveries/{id}", identity.ActHeldDecide, "Decide about a message that did not arrive, or may not have.", a.decideDelivery),
	}
}

type deliveryView struct {
	ID        id.ID     `json:"id"`
	MessageID id.ID     `json:"messageId"`
	ThreadID  id.ID     `json:"threadId"`
	EventID   id.ID     `json:"eventId"` // outbound.message
	InReplyTo id.ID     `json:"inReplyTo,omitzero"`
	Channel   string    `json:"channel"`
	Agent     string    `json:"agent,omitempty"`
	Part      int       `json:"part"`
	Parts     int       `json:"parts"`
	State     string    `json:"state"` // failed, unknown
	Attempts  int       `json:"attempts"`
	ErrorKind string    `json:"errorKind,omitempty"`
	At        time.Time `json:"at"`
}

func viewDelivery(d dispatch.Delivery) deliveryView {
	return deliveryView{ID: d.ID, MessageID: d.MessageID, ThreadID: d.ThreadID, EventID: d.EventID, InReplyTo: d.InReplyTo, Channel: d.Channel, Agent: d.Agent,
		Part: d.Part, Parts: d.Parts, State: string(d.State), Attempts: d.Attempts, ErrorKind: d.ErrorKind, At: d.At}
}

type deliveriesIn struct {
	State string `query:"state" doc:"failed or unknown (if left out)"`
	After id.ID  `query:"after"`
	Limit int    `query:"limit"`
}

func (a *API) listDeliveries(ctx context.Context, _ *call, in deliveriesIn) (list[deliveryView], error) {
	n, err := page(in.Limit)
	if err != nil {
		return list[deliveryView]{}, err
	}
	or(&in.State, string(dispatch.Unknown))
	rows, err := a.Dispatch.Undelivered(ctx, a.Account, dispatch.DeliveryState(in.State), in.After, n)
	out := listOf(rows, viewDelivery)
	if len(rows) == n {
		out.Next = rows[n-1].ID.String()
	}
	return out, err
}

type deliveryIn struct {
	ID   id.ID `path:"id"`
	Body struct {
		Action string `json:"action" required:"true" doc:"arrived, failed, resend"`
	}
}

func (a *API) decideDelivery(ctx context.Context, c *call, in deliveryIn) (none, error) {
	switch in.Body.Action {
	case "arrived", "failed":
		return none{}, a.Dispatch.Settle(ctx, a.Account, c.who.PersonID, in.ID, in.Body.Action == "arrived")
	case "resend":
		return none{}, a.Dispatch.Resend(ctx, a.Account, c.who.PersonID, in.ID)
	}
	return none{}, fault.New(fault.Invalid, "it must be arrived, failed or resend").On("action")
}
