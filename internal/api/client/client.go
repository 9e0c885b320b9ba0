package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 64 << 20

// Client speaks to one Witan. It is safe for concurrent use.
type Client struct {
	base  string
	token secret.String
	http  *http.Client
}

// New returns a client for a URL; the token may be empty.
func New(base string, token secret.String) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fault.New(fault.Invalid, "%q is no address of a Witan", base).On("WITAN_URL").WithFix("write http://HOST:PORT")
	}
	return &Client{base: strings.TrimRight(base, "/"), token: token, http: &http.Client{}}, nil
}

// Socket returns a client for the socket of a running Witan: whoever may open
// the file acts as the account's owner.
func Socket(path string) (*Client, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fault.New(fault.Unavailable, "no Witan is running on this data folder").
			WithFix("start it with witan serve, or set WITAN_URL and WITAN_TOKEN")
	}
	d := &net.Dialer{Timeout: 5 * time.Second}
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", path)
	}}
	return &Client{base: "http://witan", http: &http.Client{Transport: t}}, nil
}

// Problem is an error answer (RFC 9457), with our kind, field and fix.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Kind   string `json:"kind"`
	Field  string `json:"field"`
	Fix    string `json:"fix"`
	Event  int64  `json:"event"`
}

// Do sends in as JSON, if it is not nil, and reads the answer into out.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in, "application/json")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil || res.StatusCode == http.StatusNoContent {
		_, err := io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
		return err
	}
	if raw, ok := out.(*json.RawMessage); ok {
		*raw, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		return err
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(out); err != nil {
		return fault.New(fault.Unavailable, "the answer to %s %s cannot be read: %w", method, path, err)
	}
	return nil
}

// Stream sends in and hands the body of the answer over; the caller closes it.
func (c *Client) Stream(ctx context.Context, method, path string, in any, accept string) (io.ReadCloser, error) {
	res, err := c.send(ctx, method, path, in, accept)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

func (c *Client) send(ctx context.Context, method, path string, in any, accept string) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if !c.token.Empty() {
		req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	res, err := c.http.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // the URL may hold a token
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.New(fault.Unavailable, "Witan does not answer: %w", err).WithFix("is it running? see witan serve --help")
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, problem(res)
}

// problem turns an error answer back into a fault.
func problem(res *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	var p Problem
	if json.Unmarshal(b, &p) != nil || p.Kind == "" {
		return fault.New(kindOf(res.StatusCode), "Witan answered %s", res.Status)
	}
	return fault.New(fault.ParseKind(p.Kind), "%s", p.Detail).On(p.Field).WithFix("%s", p.Fix)
}

func kindOf(status int) fault.Kind {
	for _, k := range fault.Kinds() {
		if fault.EdgeOf(k).HTTP == status && k != fault.Internal {
			return k
		}
	}
	return fault.Internal
}
