package app

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
)

func logLevel(s string) (l slog.Level, err error) {
	if err := l.UnmarshalText([]byte(strings.ToUpper(s))); err != nil {
		return l, fault.New(fault.Invalid, "%q is no log level", s).On("log.level").WithFix("debug, info, warn or error")
	}
	return l, nil
}

// NewLogger returns a logger that redacts whatever looks like a secret, whoever
// wrote it: INV-12 does not rest on every call site.
func NewLogger(w io.Writer, c LogConfig) (*slog.Logger, error) {
	level, err := logLevel(c.Level)
	if err != nil {
		return nil, err
	}
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if c.Format == "json" {
		h = slog.NewJSONHandler(w, o)
	}
	return slog.New(redacting{h}), nil
}

// redacting is a slog.Handler that masks secrets in messages and attributes.
type redacting struct{ next slog.Handler }

func (r redacting) Enabled(ctx context.Context, l slog.Level) bool { return r.next.Enabled(ctx, l) }

func (r redacting) Handle(ctx context.Context, rec slog.Record) error {
	out := slog.NewRecord(rec.Time, rec.Level, Redact(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool { out.AddAttrs(redactAttr(a)); return true })
	return r.next.Handle(ctx, out)
}

func (r redacting) WithAttrs(as []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(as))
	for i, a := range as {
		clean[i] = redactAttr(a)
	}
	return redacting{r.next.WithAttrs(clean)}
}

func (r redacting) WithGroup(name string) slog.Handler { return redacting{r.next.WithGroup(name)} }

func redactAttr(a slog.Attr) slog.Attr {
	if secretName.MatchString(a.Key) {
		return slog.String(a.Key, masked)
	}
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, Redact(v.String()))
	case slog.KindGroup:
		var out []slog.Attr
		for _, g := range v.Group() {
			out = append(out, redactAttr(g))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(out...)}
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.String(a.Key, Redact(err.Error()))
		}
		if s, ok := v.Any().(interface{ String() string }); ok {
			return slog.String(a.Key, Redact(s.String()))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

const masked = "[secret]"

var (
	secretName = regexp.MustCompile(`(?i)^(.*_)?(password|passwd|secret|token|api_?key|authorization|cookie|setup_code)$`)
	// secretText finds secrets by their form: our own tokens and codes, vendors'
	// keys, bearer headers, passwords in URLs, private keys.
	secretText = regexp.MustCompile(`(?i)wtn_[a-z0-9]{16,}|sk-(ant-|proj-|or-)?[a-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|gh[pousr]_[a-z0-9]{20,}|xox[abprs]-[a-z0-9-]{10,}` +
		`|(bearer|basic)\s+[a-z0-9._~+/=-]{8,}|[?&](token|code|key|secret|password)=[^\s&"']+|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(-----END [A-Z ]*PRIVATE KEY-----)?`)
	urlPassword = regexp.MustCompile(`(://[^/\s:@]+:)[^@\s/]+@`)
)

// Redact masks what looks like a secret in a text that is about to be logged.
func Redact(s string) string {
	s = urlPassword.ReplaceAllString(s, "${1}"+masked+"@")
	return secretText.ReplaceAllString(s, masked)
}
