package httpin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// hook carries messages to one address.
type hook struct {
	url     string
	timeout time.Duration
	secret  secret.String
	client  *http.Client
	clock   clock.Clock
}

func newHook(url string, timeout time.Duration, s secret.String, d Dialer, c clock.Clock) *hook {
	if timeout <= 0 {
		timeout = 15 * time.Second
	}
	return &hook{url: url, timeout: timeout, secret: s, clock: c, client: &http.Client{
		Transport: &http.Transport{
			Proxy:               nil, // a proxy would connect for us, past the dialer's check
			DialContext:         d.DialContext,
			TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Posted is the body of a webhook call.
type Posted struct {
	Type       string `json:"type"` // outbound.message
	Channel    string `json:"channel"`
	MessageID  id.ID  `json:"messageId"`
	DeliveryID id.ID  `json:"deliveryId"`
	ThreadID   id.ID  `json:"threadId"`
	Thread     string `json:"thread,omitempty"` // the program's name of it
	InReplyTo  id.ID  `json:"inReplyTo,omitzero"`
	Address    string `json:"address"`
	Agent      string `json:"agent,omitempty"`
	Text       string `json:"text"`
	IsError    bool   `json:"isError,omitempty"`
	Part       int    `json:"part"`
	Parts      int    `json:"parts"`
}

// Deliver implements channel.Adapter.
func (c *Channel) Deliver(ctx context.Context, out channel.Outgoing, key string) (channel.Receipt, error) {
	if c.hook == nil {
		return channel.Receipt{}, fault.New(fault.Invalid, "channel %s fetches its messages; nothing is carried to it", c.traits.Name)
	}
	m := out.Message
	body, err := json.Marshal(Posted{
		Type: "outbound.message", Channel: m.Channel, MessageID: m.MessageID, DeliveryID: m.DeliveryID, ThreadID: m.ThreadID,
		Thread: out.ThreadRef, InReplyTo: m.InReplyTo, Address: m.Address, Agent: m.Agent, Text: m.Text, IsError: m.IsError,
		Part: out.Part, Parts: out.Parts,
	})
	if err != nil {
		return channel.Receipt{}, fault.New(fault.Invalid, "encode the message: %w", err)
	}
	return c.hook.post(ctx, body, key)
}

func (h *hook) post(ctx context.Context, body []byte, key string) (channel.Receipt, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fault.New(fault.Timeout, "the webhook did not answer within %s", h.timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return channel.Receipt{}, fault.New(fault.Invalid, "make the request: %w", err)
	}
	// NewRequest sets GetBody, with which the transport would repeat the request
	// on a broken idle connection by itself. Attempts are counted here only.
	req.GetBody = nil
	now := h.clock.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "witan")
	req.Header.Set(HeaderKey, key)
	req.Header.Set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(HeaderSignature, Sign(h.secret, now, body))
	resp, err := h.client.Do(req)
	if err != nil {
		return channel.Receipt{}, h.unsent(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	return h.answer(resp, now)
}

// unsent classifies an attempt without an answer: what failed before a byte
// left is known not to have happened.
func (h *hook) unsent(ctx context.Context, err error) error {
	var refused *fault.Error
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &refused) && refused.Kind == fault.Denied:
		return refused
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		return fault.New(fault.Unavailable, "the webhook cannot be reached: %w", err)
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return fault.New(fault.Timeout, "the webhook did not answer: %w", err)
	}
	return fault.New(fault.Unknown, "the webhook broke off: %w", err)
}

const maxAnswer = 4 << 10

// answer reads the status, and an id if the body names one.
func (h *hook) answer(resp *http.Response, now time.Time) (channel.Receipt, error) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // the status decides; a broken body changes nothing
	switch s := resp.StatusCode; {
	case s >= 200 && s < 300:
		var named struct {
			ID     string `json:"id"`
			Thread string `json:"thread"`
		}
		_ = json.Unmarshal(body, &named)
		return channel.Receipt{State: "sent", ProviderID: named.ID, ThreadRef: named.Thread}, nil
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		kind := fault.Unavailable
		if s == http.StatusTooManyRequests {
			kind = fault.Limited
		}
		e := fault.New(kind, "the webhook answered %d", s)
		if after := retryAfter(resp.Header.Get("Retry-After"), now); after > 0 {
			return channel.Receipt{}, &channel.RetryError{Err: e, After: after}
		}
		return channel.Receipt{}, e
	case s >= 500, s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusConflict:
		return channel.Receipt{}, fault.New(fault.Unavailable, "the webhook answered %d", s)
	case s >= 300 && s < 400:
		return channel.Receipt{}, fault.New(fault.Invalid, "the webhook redirects (%d), which is never followed", s).
			WithFix("set its final address")
	default:
		return channel.Receipt{}, fault.New(fault.Invalid, "the webhook refused the message with %d", s)
	}
}

// retryAfter reads RFC 9110 Retry-After: seconds, or a date.
func retryAfter(v string, now time.Time) time.Duration {
	if s, err := strconv.Atoi(v); err == nil {
		return time.Duration(min(max(s, 0), 24*60*60)) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(t.Sub(now), 24*time.Hour)
	}
	return 0
}
