package llmtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Cut says how a reply's bytes arrive.
type Cut struct {
	Split    int  // two pieces: the first of this many bytes; 0 for one piece
	Bytewise bool // one byte a read
	Truncate int  // break off after this many bytes; 0 for never, -1 for at once
	Clean    bool // break off as if the reply were complete
	Hang     int  // stand still after this many bytes until the call ends; likewise
}

// Transport answers requests by a handler in process and cuts its replies.
type Transport struct {
	Handler http.Handler
	Cut     func(n int) Cut // of reply n, from 0; nil for whole replies
	// HangHeaders never answers before the call ends.
	HangHeaders bool

	mu   sync.Mutex
	sent int // guarded by mu
}

// Client returns a client over the transport.
func (t *Transport) Client() *http.Client { return &http.Client{Transport: t} }

// Sent returns how many requests came.
func (t *Transport) Sent() int { t.mu.Lock(); defer t.mu.Unlock(); return t.sent }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	n := t.sent
	t.sent++
	t.mu.Unlock()
	ctx := r.Context()
	if t.HangHeaders {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	in := r.Clone(ctx)
	in.Body, in.RequestURI = io.NopCloser(bytes.NewReader(body)), r.URL.RequestURI()
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	rec := httptest.NewRecorder()
	t.Handler.ServeHTTP(rec, in)
	resp := rec.Result()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var c Cut
	if t.Cut != nil {
		c = t.Cut(n)
	}
	resp.Body = &cutBody{ctx: ctx, data: data, cut: c}
	resp.ContentLength = -1
	return resp, nil
}

type cutBody struct {
	ctx  context.Context
	data []byte
	cut  Cut
	at   int
}

// bound returns the place of an event of a Cut, or beyond the data.
func bound(n, size int) int {
	switch {
	case n == 0:
		return size + 1
	case n < 0:
		return 0
	}
	return n
}

// Read implements io.Reader.
func (b *cutBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	size := len(b.data)
	hang, trunc := bound(b.cut.Hang, size), bound(b.cut.Truncate, size)
	switch {
	case b.at >= hang:
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	case b.at >= trunc && !b.cut.Clean:
		return 0, io.ErrUnexpectedEOF
	case b.at >= trunc:
		return 0, io.EOF
	case b.at >= size:
		return 0, io.EOF
	}
	end := min(size, hang, trunc)
	if b.cut.Split > b.at {
		end = min(end, b.cut.Split)
	}
	if b.cut.Bytewise {
		end = min(end, b.at+1)
	}
	n := copy(p, b.data[b.at:end])
	b.at += n
	return n, nil
}

// Close implements io.Closer.
func (b *cutBody) Close() error { return nil }
