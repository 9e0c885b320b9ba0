package llm

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// Body is a provider's reply under watch: reading it fails with a named Failure
// when it is too large, stands still or breaks off. It is used by one goroutine.
type Body struct {
	Header  map[string][]string
	MaxLine int // bound for decoders of lines and frames

	w     *Wire
	ctx   context.Context //nolint:containedctx // of this attempt, as Read takes none; its cause names the timer that fired
	src   io.Reader
	timer *time.Timer // runs only while Read waits: a slow consumer is no stalled provider
	begun atomic.Bool // a byte has come; read by the timer
	left  int64
}

// ContentType returns the media type without its parameters, in lower case.
func (b *Body) ContentType() string {
	t, _, _ := strings.Cut(header(b.Header, "Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	if b.begun.Load() {
		b.timer.Reset(b.w.limits.Idle)
	}
	n, err := b.src.Read(p)
	b.timer.Stop()
	if n > 0 {
		b.begun.Store(true)
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, b.w.Failure(TooLarge, "the reply is larger than %d bytes", b.w.limits.MaxBytes)
	}
	if err != nil && err != io.EOF {
		return n, b.w.broken(b.ctx, Truncated, "the reply broke off", err)
	}
	return n, err
}

// Failure returns a failure of this wire; the text is scrubbed of secrets.
func (b *Body) Failure(r Reason, format string, args ...any) *Failure {
	return b.w.Failure(r, format, args...)
}

// Fail returns the failure for an error that a provider put into its reply in
// place of an HTTP status.
func (b *Body) Fail(status int, code, message string) *Failure {
	return b.w.answered(status, code, message, 0)
}
