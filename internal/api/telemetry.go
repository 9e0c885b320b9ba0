package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/witan-run/witan/internal/kit/fault"
)

// metrics counts what the API does.
type metrics struct {
	requests *prometheus.CounterVec
	scrape   http.Handler
}

// newMetrics registers them; a registry takes one API.
func newMetrics(a *API) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "witan_http_requests_total", Help: "HTTP requests, by route and status."}, []string{"route", "status"}),
		scrape:   promhttp.HandlerFor(a.Registry, promhttp.HandlerOpts{DisableCompression: true}),
	}
	all := []prometheus.Collector{
		m.requests,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "witan_stream_readers", Help: "Live readers of the event stream."}, func() float64 { return float64(a.readers.count()) }),
	}
	all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "witan_tail_reads_total", Help: "Reads of the journal for live readers."}, func() float64 { return float64(a.Tails.Reads()) }))
	if a.Commits != nil {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "witan_commits_total", Help: "Durable commits since the start."}, func() float64 { return float64(a.Commits()) }))
	}
	for _, c := range all {
		if err := a.Registry.Register(c); err != nil {
			return nil, fault.New(fault.Invalid, "the registry holds these metrics already: %w", err).On("Registry")
		}
	}
	return m, nil
}

func (m *metrics) count(route string, status int) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

func (a *API) scrape(_ context.Context, c *call, _ none) error {
	a.metrics.scrape.ServeHTTP(c.w, c.r)
	return nil
}
