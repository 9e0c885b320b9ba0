package api

import (
	"context"
	"net/http"
	"time"

	"github.com/witan-run/witan/internal/identity"
)

func (a *API) healthRoutes() []Route {
	return []Route{
		on("GET", "/healthz", identity.ActHealth, "Tell whether the process lives.", a.healthy),
		on("GET", "/readyz", identity.ActHealth, "Tell whether the store answers, its schema is current and the workers run.", a.ready, within(5*time.Second)),
		raw("GET", "/metrics", identity.ActMetricsRead, "Metrics in the text format of Prometheus.", "text/plain", a.scrape),
		raw("GET", "/api/v1/openapi.json", identity.ActHealth, "This document: OpenAPI 3.1.", "application/json", a.openapi),
	}
}

type health struct {
	Status  string `json:"status"` // alive, ready
	Version string `json:"version"`
}

func (a *API) healthy(context.Context, *call, none) (health, error) {
	return health{Status: "alive", Version: a.Version}, nil
}

func (a *API) ready(ctx context.Context, _ *call, _ none) (health, error) {
	if err := a.Ready(ctx); err != nil {
		return health{}, err
	}
	return health{Status: "ready", Version: a.Version}, nil
}

func (a *API) openapi(_ context.Context, c *call, _ none) error {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "no-cache")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(a.spec)
	return nil
}
