package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/witan-run/witan/internal/console/assets"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill/manifest"
)

// Console is the web console. It is an http.Handler and safe for concurrent use.
type Console struct {
	Deps
	public  *url.URL
	routes  []Route
	mux     *http.ServeMux
	cross   *http.CrossOriginProtection
	bundle  *assets.Bundle
	chain   *chain
	plays   *plays
	entries *memo[string, manifest.Entry] // by hash
	tables  *memo[int, *policy.Table]     // by version
}

// New returns a Console, or fault.Invalid naming what is missing. It starts
// nothing.
func New(d Deps) (*Console, error) {
	public, err := d.check()
	if err != nil {
		return nil, err
	}
	bundle, err := assets.Load()
	if err != nil {
		return nil, err
	}
	c := &Console{Deps: d, public: public, mux: http.NewServeMux(), cross: http.NewCrossOriginProtection(), bundle: bundle,
		chain: newChain(), plays: newPlays(), entries: newMemo[string, manifest.Entry](512), tables: newMemo[int, *policy.Table](16)}
	c.routes = c.table()
	for i := range c.routes {
		r := &c.routes[i]
		c.mux.HandleFunc(r.Pattern(), func(w http.ResponseWriter, req *http.Request) { c.run(r, w, req) })
	}
	c.mux.Handle("GET "+assets.Prefix, bundle)
	return c, nil
}

// Routes returns the table.
func (c *Console) Routes() []Route { return slices.Clone(c.routes) }

// Close ends a running verification and waits for it, until ctx ends.
func (c *Console) Close(ctx context.Context) error { return c.chain.close(ctx) }
