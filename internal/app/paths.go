package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/store"
)

// Paths are the places inside the data folder.
type Paths struct{ Data string }

// Keyring is the file with all keys. It is not in the database's folder, so
// that copying the database alone reveals nothing.
func (p Paths) Keyring() string { return filepath.Join(p.Data, "keys", "keyring") }

// Database is the folder of the SQLite file.
func (p Paths) Database() string { return filepath.Join(p.Data, "db") }

// Blobs holds attachments by content.
func (p Paths) Blobs() string { return filepath.Join(p.Data, "blobs") }

// Files is the sandbox of the file skills.
func (p Paths) Files() string { return filepath.Join(p.Data, "files") }

// Socket is where the command line finds a running Witan.
func (p Paths) Socket() string { return filepath.Join(p.Data, "witan.sock") }

// SetupCode holds the one-time code of the first start.
func (p Paths) SetupCode() string { return filepath.Join(p.Data, "setup-code") }

// extra are the folders that a backup holds besides the database.
func (p Paths) extra() map[string]string {
	return map[string]string{"blobs": p.Blobs(), "files": p.Files()}
}

// Deps come in from outside: what tests replace.
type Deps struct {
	Clock clock.Clock
	IDs   *id.Source
	Log   *slog.Logger
	// LogTo is where the log goes, as Config.Log says, when Log is nil; with
	// neither nothing is logged.
	LogTo io.Writer
	// Models stand in for configured providers of their names.
	Models map[string]llm.Model
	// Agents are definitions beside those of the configured folder.
	Agents []agent.Source
	// Demo marks this Witan as the demo, on its pages.
	Demo bool
	// Skills are built-in skills beside the program's own.
	Skills []skill.Registration
}

func (d Deps) fill(c Config) (Deps, error) {
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.IDs == nil {
		d.IDs = id.NewSource(d.Clock.Now, nil)
	}
	if d.Log == nil && d.LogTo == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Log == nil {
		log, err := NewLogger(d.LogTo, c.Log)
		if err != nil {
			return d, err
		}
		d.Log = log
	}
	return d, nil
}

// openStore opens the keyring and the engine of a configuration.
func openStore(ctx context.Context, c Config, d Deps) (*store.DB, *secret.Keyring, error) {
	p := Paths{c.Data}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, nil, fault.New(fault.Unavailable, "make the data folder: %w", err).On("data")
	}
	k, err := secret.OpenOrCreate(p.Keyring(), secret.Options{Now: d.Clock.Now})
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unavailable, err, "open the keyring")
	}
	o := store.Options{Clock: d.Clock, IDs: d.IDs, Keyring: k, Log: d.Log}
	if c.Database.Set() {
		o.URL = c.Database.Reveal().Reveal()
	} else {
		o.Dir = p.Database()
	}
	db, err := store.Open(ctx, o)
	return db, k, err
}
