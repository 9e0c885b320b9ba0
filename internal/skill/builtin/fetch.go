package builtin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Limits of a fetch.
const (
	maxPage      = 2 << 20  // bytes of a body that are read, after decompression
	maxHeader    = 64 << 10 // bytes
	maxRedirects = 5
	dialTimeout  = 10 * time.Second
	headTimeout  = 15 * time.Second
)

// FetcherConfig says how pages are fetched.
type FetcherConfig struct {
	// Loopback allows the addresses of this machine's loopback, on any port. It
	// is for development: with it an agent can reach whatever listens there.
	Loopback bool
	// Agent is the User-Agent; "" means Witan's.
	Agent string
}

// Fetcher fetches public pages. It keeps no connection, cookie or credential
// from one fetch to the next and uses no proxy. It is safe for concurrent use.
type Fetcher struct {
	client *http.Client
	agent  string
}

// NewFetcher returns a fetcher.
func NewFetcher(c FetcherConfig) *Fetcher {
	g := guard{loopback: c.Loopback, own: net.InterfaceAddrs}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: -1, Control: g.control}
	f := &Fetcher{agent: c.Agent}
	if f.agent == "" {
		f.agent = "Witan/1 (+https://github.com/witan-run/witan)"
	}
	f.client = &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
			TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: headTimeout, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fault.New(fault.Limited, "it redirects more than %d times", maxRedirects).On("url")
			}
			if _, err := checkURL(req.URL.String()); err != nil {
				return fault.New(fault.Denied, "it redirects to what is not fetched: %w", err).On("url")
			}
			if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http" {
				return fault.New(fault.Denied, "it redirects from https to http").On("url")
			}
			req.Header.Del("Referer")
			return nil
		},
	}
	return f
}

type httpFetch struct{ fetcher *Fetcher }

// page is what a fetch gives.
type page struct {
	URL       string   `json:"url"` // where it ended
	Status    int      `json:"status"`
	Type      string   `json:"type"`
	Title     string   `json:"title,omitempty"`
	Text      string   `json:"text"`
	Cut       bool     `json:"cut"`
	Redirects []string `json:"redirects,omitempty"`
	Hidden    string   `json:"hidden,omitempty"` // what was taken out because nobody sees it
}

// Act implements skill.Executable.
func (h httpFetch) Act(ctx context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		URL string `json:"url"`
	}
	if err := begin(c, manifest.PermitNet, &a); err != nil {
		return skill.Output{}, err
	}
	p, err := h.fetcher.fetch(ctx, a.URL)
	return skill.Output{Value: p}, err
}

func (f *Fetcher) fetch(ctx context.Context, raw string) (page, error) {
	u, err := checkURL(raw)
	if err != nil {
		return page{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return page{}, fault.New(fault.Invalid, "that is no URL: %w", err).On("url")
	}
	req.Header.Set("User-Agent", f.agent)
	req.Header.Set("Accept", "text/html, text/plain, text/markdown, application/json;q=0.9, application/xml;q=0.8, text/*;q=0.7")
	res, err := f.client.Do(req)
	if err != nil {
		return page{}, netFault(err)
	}
	defer res.Body.Close()
	out := page{URL: res.Request.URL.String(), Status: res.StatusCode, Redirects: hops(res)}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPage+1))
	if err != nil && len(body) <= maxPage {
		return page{}, netFault(err)
	}
	if out.Cut = len(body) > maxPage; out.Cut {
		body = body[:maxPage]
	}
	return out, out.read(ctx, body, res.Header.Get("Content-Type"), res.Request.URL)
}

// hops lists the URLs before the last one, in order.
func hops(res *http.Response) (out []string) {
	for r := res.Request; r.Response != nil; r = r.Response.Request {
		out = append(out, r.Response.Request.URL.String())
	}
	slices.Reverse(out)
	return out
}

// netFault classifies an error of the connection. A refusal of ours keeps its
// kind; what the network says stays a cause, which is not shown.
func netFault(err error) error {
	var known *fault.Error
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Cancelled, "the fetch was cancelled: %w", err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fault.New(fault.NotFound, "there is no such host: %w", err).On("url")
	case errors.As(err, &timeout) && timeout.Timeout():
		return fault.New(fault.Timeout, "the host did not answer in time: %w", err)
	}
	return fault.New(fault.Unavailable, "the host cannot be reached: %w", err)
}

// read turns a body into text.
func (p *page) read(ctx context.Context, body []byte, contentType string, base *url.URL) error {
	if strings.TrimSpace(contentType) == "" {
		contentType = http.DetectContentType(body)
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = strings.ToLower(strings.TrimSpace(strings.Split(contentType, ";")[0]))
	}
	p.Type = skill.Prefix(strings.ToValidUTF8(kind, ""), 100)
	isHTML := kind == "text/html" || kind == "application/xhtml+xml"
	if len(body) == 0 {
		return nil
	}
	if !isHTML && !isText(kind) {
		return fault.New(fault.Invalid, "it is %s; only pages and texts are fetched", p.Type).On("url")
	}
	decoded, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(decoded, 2*maxPage))
	}
	if err != nil {
		return fault.New(fault.Invalid, "its characters cannot be read: %w", err).On("url")
	}
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	note := hiddenNote{}
	if isHTML {
		if p.Title, text, err = readable(ctx, text, base, &note); err != nil {
			return err
		}
	}
	text = note.strip(text)
	p.Title = skill.Prefix(note.strip(p.Title), 300)
	part := skill.Prefix(text, maxChunk)
	if part == "" && text != "" { // one cluster of more than a chunk
		for part = text[:min(len(text), maxChunk)]; !utf8.ValidString(part); {
			part = part[:len(part)-1]
		}
	}
	p.Text, p.Cut, p.Hidden = part, p.Cut || len(part) < len(text), note.String()
	return nil
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || slices.Contains([]string{"application/json", "application/xml", "application/javascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson"}, kind) ||
		strings.HasPrefix(kind, "application/") && (strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml"))
}
