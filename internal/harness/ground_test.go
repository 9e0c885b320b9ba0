package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// ground is one database with its keys, on which the journal is tortured. It is
// handed to worker processes as JSON.
type ground struct {
	Dir      string // of SQLite, if URL is empty
	URL      string
	Keyring  string
	Account  id.ID
	MaxPages int
	Told     string // file in which workers write what they were told
	Life     string // names the worker; part of every key
}

const (
	producers  = 64
	groundEnv  = "HARNESS_GROUND"
	groundKind = "torture" // of the timers that are the guarded rows
)

// engines names both, for subtests.
func engines() []string { return []string{"sqlite", "postgres"} }

// durableServer is a PostgreSQL that keeps fsync on, one per test process, which
// TestMain stops.
//
//nolint:gochecknoglobals // one server per test process
var durableServer struct {
	once sync.Once
	s    *storetest.Server
	err  error
}

// postgres returns the durable server, or skips where PostgreSQL may be missing.
func postgres(t testing.TB) *storetest.Server {
	t.Helper()
	durableServer.once.Do(func() { durableServer.s, durableServer.err = storetest.StartServer(true) })
	s, err := durableServer.s, durableServer.err
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("PostgreSQL is required in CI: %v", err)
		}
		t.Skipf("no PostgreSQL: %v", err)
	}
	return s
}

// newGround makes an empty database of an engine.
func newGround(t testing.TB, engine string) ground {
	t.Helper()
	dir := t.TempDir()
	g := ground{Keyring: filepath.Join(dir, "keys", "keyring"), Told: filepath.Join(dir, "told"), Account: id.NewSource(clock.System{}.Now, nil).New()}
	if engine == "sqlite" {
		g.Dir = filepath.Join(dir, "data")
		return g
	}
	url, err := postgres(t).Create()
	if err != nil {
		t.Fatal(err)
	}
	g.URL = url
	return g
}

// open opens the engine. clk may be nil.
func (g ground) open(ctx context.Context, clk clock.Clock) (*store.DB, error) {
	if clk == nil {
		clk = clock.System{}
	}
	k, err := secret.OpenOrCreate(g.Keyring, secret.Options{Now: clk.Now})
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Options{Dir: g.Dir, URL: g.URL, Clock: clk, IDs: id.NewSource(clk.Now, nil), Keyring: k,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), MaxPages: g.MaxPages})
}

// env is what a worker process of this ground gets.
func (g ground) env() string {
	b, err := json.Marshal(g)
	if err != nil {
		panic(err) // strings and integers
	}
	return groundEnv + "=" + string(b)
}

// says is the right of a producer.
func says() (event.Origin, error) {
	return event.NewOrigin(event.LayerSystem, event.ClassSystem, "harness", "timer.fired")
}

// put is one closure: a row and an event of one key.
func put(ctx context.Context, db *store.DB, account id.ID, o event.Origin, key string) error {
	return db.Do(ctx, account, func(tx event.Tx) error {
		if err := store.SetTimer(tx, groundKind, key, time.Unix(1, 0)); err != nil {
			return err
		}
		_, err := tx.Emit(o, event.Draft{Payload: event.TimerFired{Kind: groundKind, Key: key},
			Label: event.NewLabel(event.House, event.AccountWide()), Summary: "A producer said something."})
		return err
	})
}

// tell notes an outcome in one write: "+key" was acknowledged, "-key kind"
// refused. What was written is there after a kill of the writer.
func tell(f *os.File, key string, err error) error {
	text := "+" + key + "\n"
	if err != nil {
		text = "-" + key + " " + fault.KindOf(err).String() + "\n"
	}
	_, werr := f.WriteString(text)
	return werr
}

// produce runs the producers until ctx ends, and notes every outcome.
func (g ground) produce(ctx context.Context, db *store.DB) (acknowledged, refused int64, err error) {
	told, err := os.OpenFile(g.Told, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, 0, err
	}
	o, err := says()
	if err != nil {
		return 0, 0, err
	}
	var good, bad atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, producers)
	for p := range producers {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%s.%d.%d", g.Life, p, n)
				err := put(context.WithoutCancel(ctx), db, g.Account, o, key)
				if werr := tell(told, key, err); werr != nil {
					errs <- werr
					return
				}
				if err == nil {
					good.Add(1)
					continue
				}
				bad.Add(1)
				select { // the disk is full, the server is gone: no use in hammering
				case <-ctx.Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return good.Load(), bad.Load(), errors.Join(<-errs, told.Close())
}

// work is the life of a worker process: it produces until it is killed, or
// politely stopped.
func (g ground) work(ctx context.Context) error {
	db, err := g.open(ctx, nil)
	if err != nil {
		return err
	}
	failpoint.Hit("journal.opened")
	_, _, err = g.produce(ctx, db)
	db.Close()
	return err
}

// groundFromEnv returns the ground of a worker process.
func groundFromEnv() (g ground, ok bool) {
	text, ok := os.LookupEnv(groundEnv)
	if !ok {
		return g, false
	}
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		panic(err)
	}
	return g, true
}

// told is what producers were told, over all lives.
type told struct {
	acknowledged map[string]bool
	refused      map[string]string // key to kind of fault
}

func (g ground) told() (told, error) {
	out := told{map[string]bool{}, map[string]string{}}
	raw, err := os.ReadFile(g.Told)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return out, err
	}
	for text := range strings.Lines(string(raw)) {
		line, whole := strings.CutSuffix(text, "\n")
		if !whole || line == "" {
			return out, fmt.Errorf("%s: line %q is broken", g.Told, text)
		}
		key, kind, _ := strings.Cut(line[1:], " ")
		if line[0] == '+' {
			out.acknowledged[key] = true
		} else {
			out.refused[key] = kind
		}
	}
	return out, nil
}

// durable is what a database holds.
type durable struct {
	events map[string]int // how often a key stands in the journal
	rows   map[string]bool
	seqs   []int64
}

// holds reads everything back.
func (g ground) holds(ctx context.Context, db *store.DB) (durable, error) {
	d := durable{events: map[string]int{}, rows: map[string]bool{}}
	for last := int64(0); ; {
		n := 0
		if err := db.View(ctx, g.Account, func(tx event.Tx) error {
			evs, err := store.EventsAfter(tx, last, 5000)
			n = len(evs)
			for _, e := range evs {
				last = e.Seq
				d.seqs = append(d.seqs, e.Seq)
				if p, ok := e.Payload.(event.TimerFired); ok && p.Kind == groundKind {
					d.events[p.Key]++
				}
			}
			return err
		}); err != nil {
			return d, err
		}
		if n == 0 {
			break
		}
	}
	due, _, _, err := db.DueTimers(ctx, 10_000_000)
	for _, t := range due {
		if t.Account == g.Account {
			d.rows[t.Key] = true
		}
	}
	return d, err
}

// verdict is what comparing the two gives.
type verdict struct {
	lost    []string // acknowledged, and its event or row is not there
	doubled []string // stands more than once
	torn    []string // an event without its row, or the reverse
	lied    []string // told "failed", and it is there
	silent  int      // durable, and nobody was told: only a kill does that
	gap     int64    // first missing seq; 0 if dense
}

// compare holds what was told against what is durable.
func compare(t told, d durable) (v verdict) {
	for key := range t.acknowledged {
		if d.events[key] == 0 || !d.rows[key] {
			v.lost = append(v.lost, key)
		}
	}
	for key, n := range d.events {
		switch kind, refused := t.refused[key]; {
		case n > 1:
			v.doubled = append(v.doubled, key)
		case refused && kind != fault.Unknown.String():
			v.lied = append(v.lied, key+" "+kind)
		case !refused && !t.acknowledged[key]:
			v.silent++
		}
		if !d.rows[key] {
			v.torn = append(v.torn, key)
		}
	}
	for key := range d.rows {
		if d.events[key] == 0 {
			v.torn = append(v.torn, key)
		}
	}
	for i, seq := range d.seqs {
		if seq != int64(i)+1 {
			v.gap = int64(i) + 1
			break
		}
	}
	return v
}

// good says whether the acknowledged set is the durable set, but for what was
// under way when a process was killed.
func (v verdict) good(underWay int) bool {
	return len(v.lost)+len(v.doubled)+len(v.torn)+len(v.lied) == 0 && v.gap == 0 && v.silent <= underWay
}

func (v verdict) String() string {
	short := func(keys []string) any {
		if len(keys) > 5 {
			return fmt.Sprintf("%d, such as %s", len(keys), keys[0])
		}
		return keys
	}
	return fmt.Sprintf("lost %v, doubled %v, torn %v, failed yet durable %v, durable yet untold %d, gap at %d",
		short(v.lost), short(v.doubled), short(v.torn), short(v.lied), v.silent, v.gap)
}

// check opens the ground as a restart would, verifies the chain and compares.
func (g ground) check(t *testing.T, underWay int) verdict {
	t.Helper()
	ctx := t.Context()
	db, err := g.open(ctx, nil)
	if err != nil {
		t.Fatalf("open after the crash: %v", err)
	}
	defer db.Close()
	if _, err := store.VerifyChain(ctx, db, g.Account, nil); err != nil {
		t.Errorf("the chain does not verify: %v", err)
	}
	d, err := g.holds(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	said, err := g.told()
	if err != nil {
		t.Fatal(err)
	}
	v := compare(said, d)
	if !v.good(underWay) {
		t.Errorf("%d acknowledged, %d durable: %s", len(said.acknowledged), len(d.events), v)
	}
	return v
}
