package bedrock

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
)

const service = "bedrock"

// Config says which region to ask and who asks.
type Config struct {
	Name   string // in errors and records; "bedrock" by default
	Region string // required ("eu-central-1")
	Base   string // the region's public endpoint by default; for private endpoints
	// Credentials are required unless Key is set. They may be asked for at every
	// try, so that short-lived ones stay fresh.
	Credentials func(context.Context) (Credentials, error)
	// Key is a Bedrock API key, sent as a bearer token in place of a signature.
	Key      secret.String
	Insecure bool // allows plain http beyond loopback
	// Whole asks for whole replies (Converse), where streaming is not permitted.
	Whole bool
	// OutputAsTool asks for JSON-schema output by a tool that must be called, for
	// models without structured outputs.
	OutputAsTool bool
	Client       *http.Client   // nil for one of our own
	Wire         llm.WireConfig // Limits, Clock, Sleep and Jitter are read
}

// Static returns credentials that do not change.
func Static(c Credentials) func(context.Context) (Credentials, error) {
	return func(context.Context) (Credentials, error) { return c, nil }
}

type model struct {
	wire  *llm.Wire
	c     Config
	base  string
	host  string
	route string // path of the base URL
}

var regionName = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]+$`)

// New returns a model, safe for concurrent use, or an Invalid error that names
// the setting.
func New(c Config) (llm.Model, error) {
	if c.Name == "" {
		c.Name = "bedrock"
	}
	if !regionName.MatchString(c.Region) {
		return nil, fault.New(fault.Invalid, "%q is not a region", c.Region).On("region").WithFix("set it like eu-central-1")
	}
	if c.Base == "" {
		c.Base = "https://bedrock-runtime." + c.Region + ".amazonaws.com"
	}
	base, err := llm.CheckBase(c.Base, true, c.Insecure)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the base URL is not a URL").On("base_url")
	}
	w := c.Wire
	switch {
	case !c.Key.Empty():
		if err := llm.CheckKey("key", c.Key); err != nil {
			return nil, err
		}
		w.Secrets = []secret.String{c.Key}
	case c.Credentials == nil:
		return nil, fault.New(fault.Invalid, "no credentials").On("credentials").WithFix("set access_key_id and secret_access_key, or key")
	}
	w.Provider, w.Refusal = c.Name, refusal
	w.Do = doer(c.Client, w.Limits.ConnectTimeout())
	m := &model{wire: llm.NewWire(w), c: c, base: base, host: u.Host, route: u.EscapedPath()}
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
	verb, read := "converse-stream", readStream
	if m.c.Whole {
		verb, read = "converse", readWhole
	}
	return m.wire.Stream(ctx,
		func() (llm.WireCall, error) {
			body, err := llm.EncodeJSON(request(r, names))
			if err != nil {
				return llm.WireCall{}, fault.Wrap(fault.Internal, err, "encode the request")
			}
			return m.call(ctx, m.route+"/model/"+escape(r.Model, false)+"/"+verb, body)
		},
		func(b *llm.Body, emit func(llm.Event) bool) error { return read(b, names, emit) })
}

// call signs a request for this moment.
func (m *model) call(ctx context.Context, path string, body []byte) (llm.WireCall, error) {
	u := strings.TrimSuffix(m.base, m.route) + path
	h := map[string][]string{"Content-Type": {"application/json"}}
	send := func() (llm.WireCall, error) {
		h["User-Agent"] = []string{"witan"}
		return llm.WireCall{Method: http.MethodPost, URL: u, Header: h, Body: body}, nil
	}
	if !m.c.Key.Empty() {
		h["Authorization"] = []string{"Bearer " + m.c.Key.Reveal()}
		return send()
	}
	c, err := m.c.Credentials(ctx)
	if err != nil {
		return llm.WireCall{}, fault.Wrap(fault.Unavailable, err, m.c.Name+": get credentials")
	}
	if err := c.check(); err != nil {
		return llm.WireCall{}, err
	}
	at := m.wire.Now()
	h["X-Amz-Date"] = []string{at.UTC().Format(longDate)}
	if !c.SessionToken.Empty() {
		h["X-Amz-Security-Token"] = []string{c.SessionToken.Reveal()}
	}
	h["Host"] = []string{m.host}
	auth := signing{region: m.c.Region, service: service, at: at, method: http.MethodPost, path: path, header: h, body: body}.authorization(c)
	delete(h, "Host") // net/http sends the host of the URL, which is the same
	h["Authorization"] = []string{auth}
	return send()
}

// check refuses credentials that cannot stand in a header.
func (c Credentials) check() error {
	if err := llm.CheckKey("access_key_id", secret.New(c.AccessKeyID)); err != nil {
		return err
	}
	if err := llm.CheckKey("secret_access_key", c.SecretAccessKey); err != nil {
		return err
	}
	if c.SessionToken.Empty() {
		return nil
	}
	return llm.CheckKey("session_token", c.SessionToken)
}
