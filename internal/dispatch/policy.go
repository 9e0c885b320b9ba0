package dispatch

import (
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Action is what a channel does with a sender of some standing.
type Action string

// The actions. Allow lets the message go on to the next gate.
const (
	Allow  Action = "allow"
	Hold   Action = "hold"
	Reject Action = "reject"
)

// ChannelPolicy is how one channel treats those who are not confirmed.
type ChannelPolicy struct {
	Unknown     Action // nobody knows the address
	Provisional Action // known, but no person confirmed it
	Unproven    Action // the address of a confirmed contact, and nothing proves it
	OverRate    Action // too many messages: hold or reject
}

// DefaultChannelPolicy holds what is not sure. Nothing is dropped.
func DefaultChannelPolicy() ChannelPolicy {
	return ChannelPolicy{Unknown: Hold, Provisional: Hold, Unproven: Hold, OverRate: Hold}
}

func (p ChannelPolicy) check(name string) error {
	for field, a := range map[string]Action{"unknown": p.Unknown, "provisional": p.Provisional, "unproven": p.Unproven} {
		if a != Allow && a != Hold && a != Reject {
			return fault.New(fault.Invalid, "%q is not allow, hold or reject", a).On("channels." + name + ".policy." + field)
		}
	}
	if p.OverRate != Hold && p.OverRate != Reject {
		return fault.New(fault.Invalid, "%q is not hold or reject", p.OverRate).On("channels." + name + ".policy.over_rate")
	}
	return nil
}

// Config holds the settings of dispatch. Start from DefaultConfig.
type Config struct {
	DefaultAgent    string // serves what no route names
	PersonChannel   string // where a person is told something of our own accord
	MaxMessageBytes int    // of one inbound text; 100 KiB in seed 000
	// Outsiders limits an account's messages from everybody but its people;
	// People limits those of its people. They are apart, so that a flood from
	// outside cannot keep an owner from stopping it.
	Outsiders, People Rate
	Sender, Person    Rate // of one address or contact, and of one person
	Trust             Weights
	Channels          map[string]ChannelPolicy // others have DefaultChannelPolicy
	Delivery          DeliveryConfig
}

// DeliveryConfig says how long deliveries are tried.
type DeliveryConfig struct {
	MaxAge  time.Duration // then it is given up and reported
	Backoff time.Duration // before the second attempt; doubles
	Cap     time.Duration // of one wait
	Timeout time.Duration // of one attempt
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		DefaultAgent: "coordinator", PersonChannel: "console", MaxMessageBytes: 102_400,
		Outsiders: Rate{Burst: 100, PerMinute: 100}, People: Rate{Burst: 1200, PerMinute: 6000},
		Sender: Rate{Burst: 15, PerMinute: 15}, Person: Rate{Burst: 120, PerMinute: 600},
		Trust:    DefaultWeights(),
		Delivery: DeliveryConfig{MaxAge: 24 * time.Hour, Backoff: time.Second, Cap: 15 * time.Minute, Timeout: 30 * time.Second},
	}
}

func (c Config) check() error {
	if c.DefaultAgent == "" {
		return fault.New(fault.Invalid, "no default agent").On("dispatch.default_agent")
	}
	if c.PersonChannel == "" {
		return fault.New(fault.Invalid, "no channel for people").On("dispatch.person_channel")
	}
	if c.MaxMessageBytes < 1 {
		return fault.New(fault.Invalid, "the size limit must be positive").On("dispatch.max_message_bytes")
	}
	if c.Delivery.MaxAge <= 0 || c.Delivery.Backoff <= 0 || c.Delivery.Cap < c.Delivery.Backoff || c.Delivery.Timeout <= 0 {
		return fault.New(fault.Invalid, "delivery times must be positive and cap at least backoff").On("dispatch.delivery")
	}
	for field, r := range map[string]Rate{"outsiders": c.Outsiders, "people": c.People, "sender": c.Sender, "person": c.Person} {
		if err := r.check("dispatch.rates." + field); err != nil {
			return err
		}
	}
	for name, p := range c.Channels {
		if err := p.check(name); err != nil {
			return err
		}
	}
	return c.Trust.check()
}

func (c Config) policy(channel string) ChannelPolicy {
	if p, ok := c.Channels[channel]; ok {
		return p
	}
	return DefaultChannelPolicy()
}
