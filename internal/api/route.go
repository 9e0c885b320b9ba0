package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/id"
)

// Route is one line of the table. It is data: the gate, the OpenAPI document and
// the tests read it.
type Route struct {
	Method string
	Path   string       // with {parameters}, as in http.ServeMux
	Act    identity.Act // of the roles table
	Doc    string       // one sentence
	Status int          // of success
	Media  string       // of the answer; "" for none
	Cap    int64        // bytes of the body; 0 takes the default
	// Timeout bounds the handler; 0 takes the default, negative means none.
	Timeout time.Duration
	// Accepts lists the media types of the body, JSON if empty.
	Accepts []string
	// QueryToken lets a token stand in the query, where a client cannot set
	// headers (EventSource).
	QueryToken bool
	// Signed lets a program come in without a token: it carries a signature that
	// the handler checks (act webhook.receive).
	Signed bool
	// StepsUp says that the route itself may ask for a fresh proof.
	StepsUp bool

	in, out reflect.Type
	serve   func(ctx context.Context, c *call) error
}

// Pattern returns the route as http.ServeMux writes it.
func (r Route) Pattern() string { return r.Method + " " + r.Path }

// call is one request on its way through a handler.
type call struct {
	id    id.ID // of the request
	route *Route
	who   identity.Principal // zero if nobody is signed in
	page  bool               // it went to the fallback
	w     *answer
	r     *http.Request
}

type option func(*Route)

func status(n int) option { return func(r *Route) { r.Status = n } }

func atMost(bytes int64) option { return func(r *Route) { r.Cap = bytes } }

func within(d time.Duration) option { return func(r *Route) { r.Timeout = d } }

func accepts(types ...string) option { return func(r *Route) { r.Accepts = types } }

func queryToken() option { return func(r *Route) { r.QueryToken = true } }

func signed() option { return func(r *Route) { r.Signed = true } }

func stepsUp() option { return func(r *Route) { r.StepsUp = true } }

// none is the input or output of a route that has none.
type none struct{}

// on makes a route whose answer is one JSON document. I's fields are bound by
// their tags (path, query, header; Body is the body); O is the answer.
func on[I, O any](method, path string, act identity.Act, doc string, f func(context.Context, *call, I) (O, error), opts ...option) Route {
	r := Route{Method: method, Path: path, Act: act, Doc: doc, Status: http.StatusOK, Media: "application/json",
		in: reflect.TypeFor[I](), out: reflect.TypeFor[O]()}
	if r.out == reflect.TypeFor[none]() {
		r.Status, r.Media = http.StatusNoContent, ""
	}
	for _, o := range opts {
		o(&r)
	}
	r.serve = func(ctx context.Context, c *call) error {
		var in I
		if err := bind(c, &in); err != nil {
			return err
		}
		out, err := f(ctx, c, in)
		if err != nil {
			return err
		}
		if c.route.Media == "" {
			c.w.WriteHeader(c.route.Status)
			return nil
		}
		return c.w.json(c.route.Status, out)
	}
	return r
}

// raw makes a route that writes its answer by itself, in a media type.
func raw[I any](method, path string, act identity.Act, doc, media string, f func(context.Context, *call, I) error, opts ...option) Route {
	r := Route{Method: method, Path: path, Act: act, Doc: doc, Status: http.StatusOK, Media: media, in: reflect.TypeFor[I](), out: reflect.TypeFor[none]()}
	for _, o := range opts {
		o(&r)
	}
	r.serve = func(ctx context.Context, c *call) error {
		var in I
		if err := bind(c, &in); err != nil {
			return err
		}
		return f(ctx, c, in)
	}
	return r
}
