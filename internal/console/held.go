package console

import (
	"strconv"

	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/console/ui"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// heldTitle is made of what the platform knows; the stranger's words stand in the
// hatched box only.
func heldTitle(h dispatch.HeldMessage) string {
	if h.Erased {
		return "A message whose data were erased"
	}
	switch h.Reason {
	case "unknown_sender":
		return "Unknown sender on " + h.Channel
	case "provisional_sender":
		return "A sender nobody confirmed, on " + h.Channel
	case "unproven_sender":
		return "An address that nothing proves, on " + h.Channel
	case "rate_limited":
		return "Too many messages from one sender, on " + h.Channel
	}
	return "A message on " + h.Channel
}

func heldWhy(reason string) string {
	switch reason {
	case "unknown_sender":
		return "never seen before"
	case "provisional_sender":
		return "known, not confirmed"
	case "unproven_sender":
		return "it may be somebody else"
	case "rate_limited":
		return "over its limit"
	case "untrusted":
		return "trust below the floor"
	}
	return reason
}

// heldCard is a message that waits for a person: data of a stranger.
func (x *item) heldCard(h dispatch.HeldMessage, v *ui.InboxView) error {
	fate := h.Message
	card := ui.Held{ID: h.ID.String(), Key: "HM-" + short(h.ID.String()), Version: 1, Title: heldTitle(h), Sender: fate.Sender, Channel: h.Channel,
		At: x.at(h.At, x.now), Full: x.full(h.At), Text: fate.Text, Trust: capital(heldWhy(h.Reason))}
	if h.Proven {
		card.TrustParts = append(card.TrustParts, "the address is proven: "+fate.Proof)
	} else {
		card.TrustParts = append(card.TrustParts, "nothing proves the address")
	}
	if fate.SenderName != "" {
		card.TrustParts = append(card.TrustParts, "calls itself “"+fate.SenderName+"”, a claim")
	}
	if n := len(fate.Attachments); n > 0 {
		card.TrustParts = append(card.TrustParts, plural(n, "file is", "files are")+" kept and not opened")
	}
	x.name = card.Key
	v.Held = &card
	return nil
}

// held takes a person's decision about a held message.
func (c *Console) held(k *call) error {
	on, err := k.pathID()
	if err != nil {
		return err
	}
	f := k.r.PostForm
	switch f.Get("act") {
	case "block":
		err = c.Dispatch.Block(k.ctx, c.Account, k.who.PersonID, on)
	case "dismiss":
		err = c.Dispatch.Dismiss(k.ctx, c.Account, k.who.PersonID, on)
	case "release":
		err = c.Dispatch.Release(k.ctx, c.Account, k.who.PersonID, on)
	case "link":
		contact, perr := id.Parse(f.Get("contact"))
		if perr != nil {
			return fault.New(fault.Invalid, "choose a contact").On("contact")
		}
		_, err = c.Dispatch.Identify(k.ctx, c.Account, k.who.PersonID, on, dispatch.Who{ContactID: contact})
	case "accept":
		var name string
		if name, err = c.heldName(k, on); err != nil {
			return err
		}
		_, err = c.Dispatch.Identify(k.ctx, c.Account, k.who.PersonID, on, dispatch.Who{Name: name})
	default:
		return fault.New(fault.Invalid, "say block, dismiss, release, link or accept").On("act")
	}
	if err != nil {
		return err
	}
	k.see("/inbox")
	return nil
}

// heldName is what a new contact is called: what the sender calls itself, else
// the address. A person renames it later.
func (c *Console) heldName(k *call, on id.ID) (string, error) {
	list, _, err := c.Dispatch.HeldMessages(k.ctx, c.Account, id.Nil, perKind)
	if err != nil {
		return "", err
	}
	for _, h := range list {
		if h.ID == on {
			if h.Message.SenderName != "" {
				return h.Message.SenderName, nil
			}
			return h.Message.Sender, nil
		}
	}
	return "", fault.New(fault.Conflict, "it is settled already")
}

// contactChoices are those that a held message can be linked to.
func (c *Console) contactChoices(k *call) ([]ui.Choice, error) {
	if !identity.Allowed(k.who.Role, identity.ActHeldDecide) {
		return nil, nil
	}
	list, err := c.Dispatch.Contacts(k.ctx, c.Account, dispatch.Confirmed, id.Nil, perKind)
	if err != nil {
		return nil, err
	}
	var out []ui.Choice
	for _, p := range list {
		out = append(out, ui.Choice{Value: p.ID.String(), Label: p.Name})
	}
	return out, nil
}

// parkedCard is a reaction that failed twice: later events of its stream wait.
func (x *item) parkedCard(p bus.Deferred, v *ui.InboxView) error {
	e, err := x.event(p.Event)
	if err != nil {
		return err
	}
	card := ui.Parked{ID: p.Event.String(), Key: "PK-" + short(p.Event.String()), Subscriber: p.Subscriber, Kind: p.ErrorKind, Error: p.Error,
		Tries: strconv.Itoa(p.Tries), Fact: ui.Fact{Text: "It failed at " + string(e.Type) + ".", Ref: ref(e)}, Next: x.next(p.Event), CanDecide: x.may(identity.ActJournalUnpark)}
	if e.Seq > 0 {
		card.Journal = eventPath(e.ID)
	}
	x.name = card.Key
	v.Parked = &card
	return nil
}
