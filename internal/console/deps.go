package console

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/policy"
	"github.com/witan-run/witan/internal/skill"
	"github.com/witan-run/witan/internal/work"
)

// Record reads the journal: the functions of package store with the same words.
type Record interface {
	After(tx event.Tx, after int64, limit int) ([]event.Event, error)
	Before(tx event.Tx, before int64, limit int) ([]event.Event, error)
	OfRound(tx event.Tx, correlation id.ID, limit int) ([]event.Event, error)
	Get(tx event.Tx, e id.ID) (event.Event, error)
	Head(tx event.Tx) (tip bus.Tip, hash [32]byte, err error)
	Parked(tx event.Tx, limit int) ([]bus.Deferred, error)
}

// HeldWork counts work that was taken out of the workers' hands: by a restore, or
// because it failed time after time.
type HeldWork struct {
	Effects, Runs, Deliveries, Others, Timers int // held by a restore
	Failed                                    int // held for failing, of any kind
}

// Said is what a signed-in person wrote.
type Said struct {
	Account  id.ID
	PersonID id.ID
	Name     string
	ThreadID id.ID // zero begins a thread
	Text     string
	Agent    string // "" lets the routes choose
	Key      string // the same key is the same message
}

// Verified is what a verification of the chain found.
type Verified struct {
	Events int64
	Head   int64
	Hash   [32]byte
	Bad    int64 // seq of the first bad event; 0 if the chain is whole
}

// Live is the record that a call would change, as it stands now, and what it
// would be after the call.
type Live struct {
	// Argument names the argument whose bytes are all in Next, "content".
	Argument string
	// Exists is false for something new.
	Exists    bool
	Now, Next string
}

// Deps is what a Console is made from. Every field without "optional" is required.
type Deps struct {
	Account   id.ID
	PublicURL string // the address people open
	Version   string // of the program

	Journal  event.Journal
	Record   Record
	Clock    clock.Clock
	Log      *slog.Logger
	Identity *identity.Service
	Policy   *policy.Service
	Skills   *skill.Service
	Agents   *agent.Service // its Store is read for threads, turns and runs
	Dispatch *dispatch.Dispatcher
	Intake   *channel.Intake
	Work     *work.Service
	// Speak is the inbound half of the channel "console".
	Speak func(Said) channel.Inbound
	// Unpark lets a parked stream go on; bus.Router has it.
	Unpark func(ctx context.Context, account id.ID, by, subscriber string, stream id.ID, skip bool) error
	// Held counts what waits for a person in this moment.
	Held func(tx event.Tx) (HeldWork, error)
	// Replay runs a recorded run again; agent.Replayer has it.
	Replay func(tx event.Tx, run id.ID) (agent.Report, error)
	// Verify checks the whole chain; it may report how many events it has read.
	Verify func(ctx context.Context, progress func(events int64)) (Verified, error)

	// StepUp checks the token that a passkey gave for one approval and digest;
	// without it only the password proves a person.
	StepUp func(who identity.Principal, approval id.ID, digest, token string) error // optional
	Stream string                                                                   // optional: address of the event stream; "" turns live update off
	Zone   *time.Location                                                           // optional: in which times are shown; UTC
	// Preview shows what a call would change; false if nobody can say.
	Preview func(ctx context.Context, skillName string, arguments json.RawMessage) (Live, bool, error) // optional
	// Models reports whether a model answers the role.
	Models func(role string) bool // optional: none
	Facts  Facts
	Remote func(*http.Request) string // optional: the client's address behind a proxy
}

// Facts are of the installation: what the setup page and the foot say of it.
type Facts struct {
	DataFolder string
	Database   string // "SQLite, witan.db in the data folder"
	Keyring    string // path
	Backup     string // the command that makes one
	Config     string // the text that adds a model
	// Demo is set for witan demo: the folder in which its files live.
	Demo       bool
	DemoFolder string
	// DiskLow reports whether intake stopped because the disk is nearly full.
	DiskLow func() bool // optional
}

// check names the first thing that is missing.
func (d *Deps) check() (*url.URL, error) {
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"Account", d.Account.IsZero()}, {"Journal", d.Journal == nil}, {"Record", d.Record == nil}, {"Clock", d.Clock == nil},
		{"Log", d.Log == nil}, {"Identity", d.Identity == nil}, {"Policy", d.Policy == nil}, {"Skills", d.Skills == nil},
		{"Agents", d.Agents == nil}, {"Dispatch", d.Dispatch == nil}, {"Intake", d.Intake == nil}, {"Work", d.Work == nil}, {"Speak", d.Speak == nil},
		{"Unpark", d.Unpark == nil}, {"Held", d.Held == nil}, {"Replay", d.Replay == nil}, {"Verify", d.Verify == nil},
	} {
		if f.missing {
			return nil, fault.New(fault.Invalid, "the console needs %s", f.name).On(f.name)
		}
	}
	public, err := url.Parse(d.PublicURL)
	if err != nil || public.Host == "" {
		return nil, fault.New(fault.Invalid, "no address that people can open").On("PublicURL").WithFix("write http://HOST:PORT or https://HOST")
	}
	if d.Zone == nil {
		d.Zone = time.UTC
	}
	if d.Models == nil {
		d.Models = func(string) bool { return false }
	}
	return public, nil
}
