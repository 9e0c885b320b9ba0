package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/witan-run/witan/internal/kit/lifecycle"
)

// wakeAgain is the wait before resting runs are woken again after an error.
const wakeAgain = 5 * time.Second

// wakeResting lets the runs go on that came to rest because no model was
// configured. Models are read at start only, so this is the one moment at which
// there may be a new one.
func (a *App) wakeResting(ctx context.Context) error {
	for len(a.config.Models.Roles) > 0 {
		n, err := a.parts.agents.WakeResting(ctx, a.parts.account)
		if n > 0 {
			a.deps.Log.InfoContext(ctx, "runs that waited for a model go on", slog.Int("runs", n))
		}
		if err == nil {
			break
		}
		a.deps.Log.WarnContext(ctx, "wake runs that wait for a model", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wakeAgain):
		}
	}
	return lifecycle.ErrFinished
}
