package openai

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
)

// DefaultBase is OpenAI's own address.
const DefaultBase = "https://api.openai.com/v1"

// Config says where a server is. The zero Config is OpenAI without a key.
type Config struct {
	Name     string            // in errors and records; "openai" by default
	Base     string            // with the version ("http://localhost:11434/v1")
	Key      secret.String     // empty for a local server
	Insecure bool              // allows a key over plain http beyond loopback
	Headers  map[string]string // further headers (OpenRouter's HTTP-Referer)
	// MaxTokensField is what the server calls the bound of the answer:
	// "max_completion_tokens" at OpenAI, "max_tokens" elsewhere by default.
	MaxTokensField string
	Client         *http.Client   // nil for one of our own
	Wire           llm.WireConfig // Limits, Clock, Sleep and Jitter are read
}

// Model is a server of the Chat Completions API. It is safe for concurrent use.
type Model struct {
	wire        *llm.Wire
	base        string
	header      http.Header
	tokensField string
}

// New returns a model, or an Invalid error that names the setting.
func New(c Config) (*Model, error) {
	if c.Name == "" {
		c.Name = "openai"
	}
	if c.Base == "" {
		c.Base = DefaultBase
	}
	base, err := llm.CheckBase(c.Base, !c.Key.Empty(), c.Insecure)
	if err != nil {
		return nil, err
	}
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"witan"}}
	for _, k := range slices.Sorted(mapKeys(c.Headers)) {
		if err := checkHeader(k, c.Headers[k]); err != nil {
			return nil, err
		}
		h.Set(k, c.Headers[k])
	}
	secrets := []secret.String{}
	if !c.Key.Empty() {
		if err := llm.CheckKey("key", c.Key); err != nil {
			return nil, err
		}
		h.Set("Authorization", "Bearer "+c.Key.Reveal())
		secrets = append(secrets, c.Key)
	}
	switch c.MaxTokensField {
	case "":
		c.MaxTokensField = "max_tokens"
		if u, err := url.Parse(base); err == nil && u.Hostname() == "api.openai.com" {
			c.MaxTokensField = "max_completion_tokens"
		}
	case "max_tokens", "max_completion_tokens":
	default:
		return nil, fault.New(fault.Invalid, "want max_tokens or max_completion_tokens").On("max_tokens_field")
	}
	w := c.Wire
	w.Provider, w.Refusal, w.Secrets = c.Name, refusal, secrets
	w.Do = doer(c.Client, w.Limits.ConnectTimeout())
	return &Model{wire: llm.NewWire(w), base: base, header: h, tokensField: c.MaxTokensField}, nil
}

func mapKeys(m map[string]string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// checkHeader refuses a header that net/http would refuse, or that is ours.
func checkHeader(k, v string) error {
	bad := strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) || k == "" ||
		strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' })
	switch {
	case bad:
		return fault.New(fault.Invalid, "the header cannot be sent").On("headers." + strings.ToValidUTF8(k, "?"))
	case strings.EqualFold(k, "Authorization"):
		return fault.New(fault.Invalid, "the key does not belong here").On("headers." + k).WithFix("put the key into the key setting")
	}
	return nil
}

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	if err := r.Check(); err != nil {
		return func(yield func(llm.Event, error) bool) { yield(llm.Event{}, err) }
	}
	names := llm.WireNames(r)
	return m.wire.Stream(ctx,
		func() (llm.WireCall, error) {
			return m.call("/chat/completions", "text/event-stream", m.request(r, names))
		},
		func(b *llm.Body, emit func(llm.Event) bool) error { return read(b, names, emit) })
}

// call returns the HTTP request for a body.
func (m *Model) call(path, accept string, body any) (llm.WireCall, error) {
	data, err := llm.EncodeJSON(body)
	if err != nil {
		return llm.WireCall{}, fault.Wrap(fault.Internal, err, "encode the request")
	}
	h := m.header.Clone()
	h.Set("Accept", accept)
	return llm.WireCall{Method: http.MethodPost, URL: m.base + path, Header: h, Body: data}, nil
}
