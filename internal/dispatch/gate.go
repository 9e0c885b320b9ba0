package dispatch

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Outcome is what became of an inbound message.
type Outcome string

// The outcomes.
const (
	Tasked   Outcome = "tasked"
	InHold   Outcome = "held"
	Rejected Outcome = "rejected"
)

// ruling is what the gates say of a message.
type ruling struct {
	outcome      Outcome
	reason       string
	value, limit int64
	trust        Trust
}

func (r ruling) stops() bool { return r.outcome != Tasked && r.outcome != "" }

func reject(reason string, value, limit int64) ruling {
	return ruling{outcome: Rejected, reason: reason, value: value, limit: limit}
}

// gates runs a message through all gates, in their order. Whatever cannot be
// read is an error, which voids the transaction: nothing passes unlooked at.
func (d *Dispatcher) gates(tx event.Tx, m event.InboundMessage) (sender, ruling, error) {
	s := sender{message: m}
	trust, known := d.ports.Outlet.Trust(m.Channel)
	if !known { // its policy cannot be known
		return s, reject("unknown_channel", 0, 0), nil
	}
	if n := len(m.Text); n > d.config.MaxMessageBytes {
		return s, reject("too_large", int64(n), int64(d.config.MaxMessageBytes)), nil
	}
	now, err := d.store.Clock(tx)
	if err != nil {
		return s, ruling{}, err
	}
	policy := d.config.policy(m.Channel)
	if r, err := d.accountRate(tx, m, policy, now); err != nil || r.stops() {
		return s, r, err
	}
	if err := d.resolve(tx, &s); err != nil {
		return s, ruling{}, err
	}
	if r := byStanding(s.standing, policy); r.stops() {
		return s, r, nil
	}
	if r, err := d.senderRate(tx, s, policy, now); err != nil || r.stops() {
		return s, r, err
	}
	score := d.config.Trust.Score(trust, confidence(s.standing, s.contact), d.risk(m.Text))
	if score.Score < d.config.Trust.Floor {
		return s, ruling{outcome: InHold, reason: "untrusted", trust: score}, nil
	}
	return s, ruling{outcome: Tasked, trust: score}, nil
}

func (d *Dispatcher) accountRate(tx event.Tx, m event.InboundMessage, p ChannelPolicy, now time.Time) (ruling, error) {
	rate, key := d.config.Outsiders, "outsiders"
	if isPerson(m) {
		rate, key, p.OverRate = d.config.People, "people", Reject
	}
	ok, err := d.store.Take(tx, "account", []byte(key), rate, now)
	if err != nil || ok {
		return ruling{}, err
	}
	return overRate("account_rate", rate, p), nil
}

func (d *Dispatcher) senderRate(tx event.Tx, s sender, p ChannelPolicy, now time.Time) (ruling, error) {
	rate, kind, key := d.config.Sender, "address", senderKey(s.message.Channel, s.message.Sender)
	switch {
	case s.standing == StandingPerson:
		// A person sees the refusal at once; holding would have them release themselves.
		rate, kind, key, p.OverRate = d.config.Person, "person", s.message.PersonID[:], Reject
	case s.standing == StandingConfirmed: // all addresses of a contact share its window
		kind, key = "contact", s.contact.ID[:]
	}
	ok, err := d.store.Take(tx, kind, key, rate, now)
	if err != nil || ok {
		return ruling{}, err
	}
	return overRate("sender_rate", rate, p), nil
}

func overRate(reason string, r Rate, p ChannelPolicy) ruling {
	if p.OverRate == Hold {
		return ruling{outcome: InHold, reason: "rate_limited"}
	}
	return reject(reason, r.Burst+1, r.Burst)
}

// byStanding applies the channel's policy. It is pure.
func byStanding(s Standing, p ChannelPolicy) ruling {
	var a Action
	switch s {
	case StandingPerson, StandingConfirmed:
		return ruling{}
	case StandingBlocked:
		return reject("blocked_sender", 0, 0)
	case StandingUnproven:
		a = p.Unproven
	case StandingProvisional:
		a = p.Provisional
	case StandingUnknown:
		a = p.Unknown
	}
	reason := string(s) + "_sender"
	switch a {
	case Allow:
		return ruling{}
	case Reject:
		return reject(reason, 0, 0)
	}
	return ruling{outcome: InHold, reason: reason} // also for a standing that nobody foresaw
}

// resolve finds out who sent s.message. A person who writes for the first time
// gets a contact of their own: the sign-in confirms it.
func (d *Dispatcher) resolve(tx event.Tx, s *sender) error {
	m := s.message
	if isPerson(m) {
		c, err := d.personContact(tx, m.PersonID, m.SenderName, m.Channel, m.Sender)
		s.contact, s.standing = &c, StandingPerson
		return err
	}
	c, err := d.store.ContactByAddress(tx, m.Channel, m.Sender)
	switch {
	case err == nil:
		s.contact = &c
	case !fault.Is(err, fault.NotFound):
		return err
	}
	s.standing = Stand(m, s.contact)
	return nil
}
