package bedrock

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/witan-run/witan/internal/llm"
)

// doer sends calls by a client of ours, or by a copy of the given one.
func doer(given *http.Client, connect time.Duration) llm.Doer {
	c := &http.Client{}
	if given != nil {
		*c = *given
	} else if base, ok := http.DefaultTransport.(*http.Transport); ok {
		t := base.Clone()
		t.DialContext = (&net.Dialer{Timeout: connect}).DialContext
		t.TLSHandshakeTimeout = connect
		t.MaxResponseHeaderBytes = 256 << 10
		c.Transport = t
	}
	// A redirect would take the key to another place.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(ctx context.Context, call llm.WireCall) (llm.WireReply, error) {
		req, err := http.NewRequestWithContext(ctx, call.Method, call.URL, bytes.NewReader(call.Body))
		if err != nil {
			return llm.WireReply{}, err
		}
		req.Header = call.Header
		resp, err := c.Do(req) //nolint:bodyclose // handed to llm.Wire, which reads and closes it
		if err != nil {
			if u := (*url.Error)(nil); errors.As(err, &u) {
				err = u.Err // without the address, which the caller knows
			}
			return llm.WireReply{}, err
		}
		return llm.WireReply{Status: resp.StatusCode, Header: resp.Header, Body: resp.Body}, nil
	}
}
