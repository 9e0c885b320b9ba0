package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/witan-run/witan/internal/kit/fault"
)

// API is Witan over HTTP. It is safe for concurrent use.
type API struct {
	Deps
	public  *url.URL
	routes  []Route
	index   map[string]*Route // by pattern; read-only after New
	mux     *http.ServeMux
	cross   *http.CrossOriginProtection
	metrics *metrics
	readers *readers
	spec    []byte

	life context.Context //nolint:containedctx // the API's own life: it ends streams, no request's values are in it
	end  context.CancelCauseFunc
	// closing keeps a stream from opening while Close waits for the last one.
	closing sync.RWMutex
	open    sync.WaitGroup // streams and long polls
}

// New returns an API, or Invalid naming what is missing. It starts nothing.
func New(d Deps) (*API, error) {
	public, err := d.check()
	if err != nil {
		return nil, err
	}
	a := &API{Deps: d, public: public, index: map[string]*Route{}, mux: http.NewServeMux(), cross: http.NewCrossOriginProtection(), readers: newReaders(d.Limits)}
	a.life, a.end = context.WithCancelCause(context.Background())
	if a.metrics, err = newMetrics(a); err != nil {
		return nil, err
	}
	a.routes = a.table()
	for i := range a.routes {
		r := &a.routes[i]
		a.index[r.Pattern()] = r
		a.mux.HandleFunc(r.Pattern(), placeholder) // the mux only finds
	}
	if a.spec, err = a.document(); err != nil {
		return nil, err
	}
	return a, nil
}

// Routes returns the table.
func (a *API) Routes() []Route { return slices.Clone(a.routes) }

// Handler serves every route, and Fallback for the rest.
func (a *API) Handler() http.Handler { return http.HandlerFunc(a.serve) }

// Close ends all streams and long polls and waits for them, until ctx ends.
// Call it before the server's Shutdown, which waits for requests.
func (a *API) Close(ctx context.Context) error {
	a.closing.Lock()
	a.end(fault.New(fault.Unavailable, "Witan is stopping"))
	a.closing.Unlock()
	done := make(chan struct{})
	go func() { a.open.Wait(); close(done) }() // ends with the last stream
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
