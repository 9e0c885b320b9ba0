package api

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semtrace "go.opentelemetry.io/otel/trace"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
)

// methods are those that the table uses.
func methods() []string { return []string{"GET", "POST", "PUT", "PATCH", "DELETE"} }

// serve is the gate: everything that comes in passes here.
func (a *API) serve(rw http.ResponseWriter, r *http.Request) {
	watch := clock.StartStopwatch()
	request := a.IDs.New()
	w := &answer{ResponseWriter: rw}
	w.Header().Set("X-Request-Id", request.String())
	route := a.find(r)
	name := "none"
	if route != nil {
		name = route.Pattern()
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := a.Tracer.Start(ctx, name, semtrace.WithSpanKind(semtrace.SpanKindServer), semtrace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("http.route", name), attribute.String("witan.request", request.String())))
	c := &call{id: request, route: route, w: w, r: r.WithContext(ctx)}
	defer func() {
		a.caught(ctx, c, recover())
		span.SetAttributes(attribute.Int("http.response.status_code", w.status))
		if w.status >= 500 {
			span.SetStatus(codes.Error, http.StatusText(w.status))
		}
		span.End()
		if c.page {
			name = "page"
		}
		a.metrics.count(name, w.status)
		a.access(ctx, c, name, watch.Elapsed())
	}()
	if err := a.pass(ctx, c); err != nil {
		a.failed(ctx, c, err)
	}
}

// pass carries a request through the checks to its handler.
func (a *API) pass(ctx context.Context, c *call) error {
	local := isLocal(ctx)
	if !local {
		if err := a.checkHost(c.r); err != nil {
			return err
		}
	}
	secureHeaders(c.w.Header(), !local && a.https(c.r))
	if c.route == nil {
		return a.unrouted(c)
	}
	if byCookie(c.r, c.route.QueryToken) {
		if err := a.checkOrigin(c.r); err != nil {
			return err
		}
	}
	if err := a.admit(c); err != nil {
		return err
	}
	if d := a.timeout(c.route); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, fault.New(fault.Timeout, "the request took longer than %s", d))
		defer cancel()
	}
	c.r = c.r.WithContext(ctx)
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, a.bodyCap(c.route))
	err := c.route.serve(ctx, c)
	if cause := context.Cause(ctx); err != nil && errors.Is(err, context.DeadlineExceeded) && fault.Is(cause, fault.Timeout) {
		return cause
	}
	return err
}

// admit finds out who sends the request and asks the roles table.
func (a *API) admit(c *call) error {
	row, ok := identity.LookupAct(c.route.Act)
	if !ok {
		return fault.New(fault.Internal, "%s has no act", c.route.Pattern())
	}
	who, err := a.identify(c.r, c.route.QueryToken)
	switch {
	case err != nil && row.Public && !fault.Is(err, fault.Unavailable):
		who = identity.Principal{} // an old cookie keeps nobody from the door
	case err != nil:
		return err
	}
	c.who = who
	if who.IsZero() && c.route.Signed && c.r.Header.Get(headerSignature) != "" {
		return identity.Authorize(who, identity.ActWebhookIn, a.Clock.Now())
	}
	return identity.Authorize(who, c.route.Act, a.Clock.Now())
}

func (a *API) timeout(r *Route) time.Duration {
	if r.Timeout != 0 {
		return r.Timeout
	}
	return a.Limits.Timeout
}

func (a *API) bodyCap(r *Route) int64 {
	if r.Cap > 0 {
		return r.Cap
	}
	return a.Limits.Body
}

// find returns the route of a request, nil if there is none. The mux matches;
// its own answers (redirects, plain texts) are not used.
func (a *API) find(r *http.Request) *Route {
	var p probe
	a.mux.ServeHTTP(&p, r) // it also puts the path's parameters into r
	found := a.index[r.Pattern]
	if !p.hit || found == nil || found.Method != r.Method { // GET patterns match HEAD
		return nil
	}
	return found
}

// probe is what the mux answers to: a route's placeholder says that it was hit,
// everything else (redirects, errors) goes nowhere.
type probe struct{ hit bool }

func (*probe) Header() http.Header         { return http.Header{} }
func (*probe) Write(b []byte) (int, error) { return len(b), nil }
func (*probe) WriteHeader(int)             {}

func placeholder(w http.ResponseWriter, _ *http.Request) {
	if p, ok := w.(*probe); ok {
		p.hit = true
	}
}

// unrouted answers what no route of ours is for.
func (a *API) unrouted(c *call) error {
	var allow []string
	for _, m := range methods() {
		other := c.r.Clone(c.r.Context())
		other.Method = m
		if a.find(other) != nil {
			allow = append(allow, m)
		}
	}
	if len(allow) > 0 {
		c.w.Header().Set("Allow", strings.Join(allow, ", "))
		return wrongMethod(allow)
	}
	if a.Fallback != nil && !strings.HasPrefix(c.r.URL.Path, "/api/") {
		if !isLocal(c.r.Context()) {
			if err := a.checkOrigin(c.r); err != nil {
				return err
			}
		}
		c.page = true
		c.r.Body = http.MaxBytesReader(c.w, c.r.Body, a.Limits.Upload)
		a.Fallback.ServeHTTP(c.w, c.r)
		return nil
	}
	return fault.New(fault.NotFound, "there is nothing at this address").WithFix("see /api/v1/openapi.json")
}

// failed answers with err, or drops the connection if an answer has begun.
func (a *API) failed(ctx context.Context, c *call, err error) {
	if fault.Is(err, fault.Internal) || fault.Is(err, fault.Corrupt) {
		a.Log.ErrorContext(ctx, "request failed", slog.String("request", c.id.String()), slog.String("route", a.nameOf(c)), slog.Any("error", err))
	}
	if c.w.status != 0 {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	a.refuse(c.w, c.id, err)
}

func (a *API) nameOf(c *call) string {
	if c.route == nil {
		return "none"
	}
	return c.route.Pattern()
}

// caught turns a handler's panic into one request's failure.
func (a *API) caught(ctx context.Context, c *call, p any) {
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	a.Log.ErrorContext(ctx, "handler panicked", slog.String("request", c.id.String()), slog.String("route", a.nameOf(c)),
		slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if c.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	a.refuse(c.w, c.id, fault.New(fault.Internal, "internal error"))
}

// access writes one line for the operator. It holds no query, no header and no
// body: a token may stand in each.
func (a *API) access(ctx context.Context, c *call, route string, took time.Duration) {
	if !a.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	who := ""
	if !c.who.IsZero() {
		who = c.who.By()
	}
	attrs := []slog.Attr{
		slog.String("request", c.id.String()), slog.String("route", route), slog.Int("status", c.w.status),
		slog.Int64("bytes", c.w.bytes), slog.Duration("took", took), slog.String("by", who),
	}
	if s := semtrace.SpanContextFromContext(ctx); s.IsValid() {
		attrs = append(attrs, slog.String("trace_id", s.TraceID().String()), slog.String("span_id", s.SpanID().String()))
	}
	a.Log.LogAttrs(ctx, slog.LevelDebug, "request", attrs...)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
