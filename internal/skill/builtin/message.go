package builtin

import (
	"context"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// messageSend puts a message into the outbox, in the transaction that confirms
// the effect; carrying it is the outbox's work, with its own receipts.
type messageSend struct{ sender Sender }

// Act implements skill.Executable.
func (s messageSend) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		Channel  string `json:"channel"`
		To       string `json:"to"`
		Text     string `json:"text"`
		ThreadID string `json:"threadId"`
	}
	if err := begin(c, manifest.PermitMessage, &a); err != nil {
		return skill.Output{}, err
	}
	m := Message{Channel: a.Channel, Text: a.Text, RunID: c.Run, Key: "skill." + c.Key}
	m.Agent = strings.TrimPrefix(c.Actor, "agent:")
	var err error
	if m.PersonID, m.ContactID, m.Address, err = recipient(a.To); err != nil {
		return skill.Output{}, err
	}
	if m.ThreadID, err = id.Parse(a.ThreadID); err != nil {
		return skill.Output{}, fault.New(fault.Invalid, "%q is no id of a thread", a.ThreadID).On("threadId")
	}
	out := &struct {
		MessageID id.ID  `json:"messageId"`
		ThreadID  id.ID  `json:"threadId"`
		State     string `json:"state"`
		Reason    string `json:"reason,omitempty"`
	}{}
	return skill.Output{Value: out, Commit: func(tx event.Tx) error {
		sent, err := s.sender.Send(tx, m, c.Cause)
		out.MessageID, out.ThreadID, out.State, out.Reason = sent.MessageID, sent.ThreadID, sent.State, sent.Reason
		return err
	}}, nil
}

// recipient reads "person:ID", "contact:ID" or an address.
func recipient(to string) (person, contact id.ID, address string, err error) {
	kind, name, _ := strings.Cut(to, ":")
	switch kind {
	case "person", "contact":
		who, err := id.Parse(name)
		if err != nil || who.IsZero() {
			return id.Nil, id.Nil, "", fault.New(fault.Invalid, "%q is no %s", to, kind).On("to")
		}
		if kind == "person" {
			return who, id.Nil, "", nil
		}
		return id.Nil, who, "", nil
	}
	return id.Nil, id.Nil, to, nil
}
