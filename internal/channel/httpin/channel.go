package httpin

import (
	"net/url"
	"time"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// Config is one HTTP channel. Name and Trust stand for it everywhere.
type Config struct {
	Name  string
	Trust channel.Trust // "" means medium
	// Vouches says that the owner trusts this program to name its senders.
	Vouches bool
	// Webhook is where answers are carried; nil means that the program fetches them.
	Webhook *Webhook
	// Secrets sign the webhook and prove signed requests. The first signs; the
	// others still verify while they are rotated out.
	Secrets []secret.String
	// Limit of one message to the webhook; the zero Limit means none.
	Limit channel.Limit
}

// Webhook is where answers are carried.
type Webhook struct {
	URL     string        // https, or http if Insecure
	Timeout time.Duration // of one attempt; 0 means 15 s
	// Insecure allows plain http, which shows what it carries to the network.
	Insecure bool
}

// Channel is one HTTP channel. It is safe for concurrent use.
type Channel struct {
	traits  channel.Traits
	vouches bool
	secrets []secret.String
	hook    *hook
}

// New returns a channel; d dials its webhook. A configuration that cannot work
// is refused with the setting and what to do.
func New(c Config, d Dialer, cl clock.Clock) (*Channel, error) {
	at := "channels." + c.Name
	if err := channel.CheckName("channels.name", c.Name); err != nil {
		return nil, err
	}
	if c.Trust == "" {
		c.Trust = channel.TrustMedium
	}
	for _, s := range c.Secrets {
		if len(s.Reveal()) < minSecret {
			return nil, fault.New(fault.Invalid, "a secret has at least %d bytes", minSecret).On(at + ".secrets").
				WithFix("openssl rand -hex 32 makes a good one")
		}
	}
	out := &Channel{
		traits:  channel.Traits{Name: c.Name, Trust: c.Trust, Limit: c.Limit},
		vouches: c.Vouches, secrets: c.Secrets,
	}
	if c.Webhook == nil {
		return out, nil
	}
	u, err := url.Parse(c.Webhook.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fault.New(fault.Invalid, "the webhook needs an address like https://example.org/hook").On(at + ".webhook.url")
	case u.User != nil:
		return nil, fault.New(fault.Invalid, "the webhook's address must not hold a password").On(at + ".webhook.url").
			WithFix("the signature says who calls")
	case u.Scheme == "http" && !c.Webhook.Insecure:
		return nil, fault.New(fault.Invalid, "plain http shows every message to the network").On(at + ".webhook.url").
			WithFix("use https, or set insecure for a program on this machine")
	case len(c.Secrets) == 0:
		return nil, fault.New(fault.Invalid, "a webhook needs a secret to sign with").On(at + ".secrets")
	case d == nil || cl == nil:
		return nil, fault.New(fault.Internal, "a webhook needs a dialer and a clock")
	}
	out.traits.Push, out.traits.Idempotent = true, true
	out.hook = newHook(u.String(), c.Webhook.Timeout, c.Secrets[0], d, cl)
	return out, nil
}

// Traits implements channel.Adapter.
func (c *Channel) Traits() channel.Traits { return c.traits }

// Close ends idle connections to the webhook.
func (c *Channel) Close() {
	if c.hook != nil {
		c.hook.client.CloseIdleConnections()
	}
}
