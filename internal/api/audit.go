package api

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
)

func (a *API) auditRoutes() []Route {
	return []Route{
		on("POST", "/api/v1/backup", identity.ActBackupRun, "Make an online backup, keys included, in a new folder of the machine that serves.", a.backup, within(-1)),
		on("POST", "/api/v1/audit/checkpoint", identity.ActAuditSign, "Sign the tip of the chain; keep the answer outside of the machine.", a.checkpoint),
		raw("GET", "/api/v1/audit/verify", identity.ActAuditVerify, "Verify the whole chain; lines of JSON, the last one is the verdict.", "application/x-ndjson", a.verify, within(-1)),
		raw("POST", "/api/v1/audit/verify", identity.ActAuditVerify, "Verify the whole chain against signed checkpoints; lines of JSON, the last one is the verdict.", "application/x-ndjson", a.verifyAgainst, within(-1)),
		raw("GET", "/api/v1/audit/export", identity.ActAuditExport, "Events as gzipped lines of JSON: sealed and provable, or opened for reading.", "application/gzip", a.export, within(-1)),
	}
}

type backupIn struct {
	Body struct {
		To string `json:"to" required:"true" doc:"a folder that does not exist, as an absolute path"`
	}
}

type backupView struct {
	Dir     string            `json:"dir"`
	Engine  string            `json:"engine"`
	At      time.Time         `json:"at"`
	Files   int               `json:"files"`
	Digests map[string]string `json:"digests"` // name to SHA-256 in hex
}

func (a *API) backup(ctx context.Context, _ *call, in backupIn) (backupView, error) {
	if !filepath.IsAbs(in.Body.To) {
		return backupView{}, fault.New(fault.Invalid, "the folder must be an absolute path: it is one of the machine that serves").On("to")
	}
	m, err := a.Deps.Backup(ctx, filepath.Clean(in.Body.To))
	return backupView{m.Dir, m.Engine, m.At, len(m.Files), m.Files}, err
}

func (a *API) checkpoint(ctx context.Context, _ *call, _ none) (json.RawMessage, error) {
	return a.Audit.Sign(ctx, a.Account)
}

// verifyLine is one line of a verification. The last one has state verified or
// broken.
type verifyLine struct {
	State  string    `json:"state"` // checking, verified, broken
	Events int64     `json:"events"`
	Result *Verified `json:"result,omitempty"`
	Error  *Problem  `json:"error,omitempty"`
}

type checkpointsIn struct {
	Body struct {
		Checkpoints []json.RawMessage `json:"checkpoints" required:"true"`
	}
}

func (a *API) verify(ctx context.Context, c *call, _ none) error { return a.verifyChain(ctx, c, nil) }

func (a *API) verifyAgainst(ctx context.Context, c *call, in checkpointsIn) error {
	return a.verifyChain(ctx, c, in.Body.Checkpoints)
}

// verifyChain says once a second how far it is, so that nobody between here and
// the reader takes the silence for death.
func (a *API) verifyChain(ctx context.Context, c *call, checkpoints []json.RawMessage) error {
	ctx, leave, err := a.stay(ctx)
	if err != nil {
		return err
	}
	defer leave()
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusOK)
	var mu sync.Mutex
	var seen int64
	rc := http.NewResponseController(c.w)
	line := func(l verifyLine) {
		b, err := json.Marshal(l)
		if err == nil {
			_, err = c.w.Write(append(b, '\n'))
		}
		if err == nil {
			err = rc.Flush()
		}
		_ = err // a reader that went away also ends ctx
	}
	ticking, stop := context.WithCancel(ctx)
	var ticker sync.WaitGroup
	ticker.Go(func() {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-ticking.Done():
				return
			case <-t.C:
				mu.Lock()
				n := seen
				mu.Unlock()
				line(verifyLine{State: "checking", Events: n})
			}
		}
	})
	found, err := a.Audit.Verify(ctx, a.Account, checkpoints, func(n int64) { mu.Lock(); seen = n; mu.Unlock() })
	stop()
	ticker.Wait()
	if err != nil {
		p := problemOf(err, c.id)
		line(verifyLine{State: "broken", Events: seen, Error: &p})
		return nil
	}
	line(verifyLine{State: "verified", Events: found.Events, Result: &found})
	return nil
}

type exportIn struct {
	From  int64 `query:"from" doc:"seq; from the first, if left out"`
	Until int64 `query:"until" doc:"seq, inclusive; to the end, if left out"`
	Open  bool  `query:"open" doc:"opened for reading: proves nothing"`
}

func (a *API) export(ctx context.Context, c *call, in exportIn) error {
	h := c.w.Header()
	h.Set("Content-Type", "application/gzip")
	h.Set("Content-Disposition", `attachment; filename="journal.jsonl.gz"`)
	h.Set("Cache-Control", "no-store")
	_, _, err := a.Audit.Export(ctx, a.Account, max(in.From, 1), in.Until, in.Open, c.w)
	if err == nil && c.w.status == 0 {
		c.w.WriteHeader(http.StatusOK)
	}
	return err
}
