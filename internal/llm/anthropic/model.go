package anthropic

import (
	"context"
	"iter"
	"net/http"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
)

// DefaultBase is Anthropic's own address.
const DefaultBase = "https://api.anthropic.com"

// version is the API version that this package was written against.
const version = "2023-06-01"

// Config says where the API is. Key is required.
type Config struct {
	Name     string // in errors and records; "anthropic" by default
	Base     string // without /v1
	Key      secret.String
	Insecure bool // allows the key over plain http beyond loopback
	// OutputAsTool asks for JSON-schema output by a tool that must be called, for
	// models and gateways without structured outputs.
	OutputAsTool bool
	Client       *http.Client   // nil for one of our own
	Wire         llm.WireConfig // Limits, Clock, Sleep and Jitter are read
}

type model struct {
	wire   *llm.Wire
	url    string
	header http.Header
}

// New returns a model, safe for concurrent use, or an Invalid error that names
// the setting.
func New(c Config) (llm.Model, error) {
	if c.Name == "" {
		c.Name = "anthropic"
	}
	if c.Base == "" {
		c.Base = DefaultBase
	}
	if err := llm.CheckKey("key", c.Key); err != nil {
		return nil, err
	}
	base, err := llm.CheckBase(c.Base, true, c.Insecure)
	if err != nil {
		return nil, err
	}
	w := c.Wire
	w.Provider, w.Refusal, w.Secrets = c.Name, refusal, []secret.String{c.Key}
	w.Do = doer(c.Client, w.Limits.ConnectTimeout())
	m := &model{wire: llm.NewWire(w), url: base + "/v1/messages", header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "User-Agent": {"witan"},
		"Anthropic-Version": {version}, "X-Api-Key": {c.Key.Reveal()},
	}}
	if c.OutputAsTool {
		return llm.OutputAsTool(m), nil
	}
	return m, nil
}

// Stream implements llm.Model. The API has no seed; a seed is not sent.
func (m *model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	if err := r.Check(); err != nil {
		return func(yield func(llm.Event, error) bool) { yield(llm.Event{}, err) }
	}
	names := llm.WireNames(r)
	return m.wire.Stream(ctx,
		func() (llm.WireCall, error) {
			data, err := llm.EncodeJSON(request(r, names))
			if err != nil {
				return llm.WireCall{}, fault.Wrap(fault.Internal, err, "encode the request")
			}
			return llm.WireCall{Method: http.MethodPost, URL: m.url, Header: m.header.Clone(), Body: data}, nil
		},
		func(b *llm.Body, emit func(llm.Event) bool) error { return read(b, names, emit) })
}
