package harness_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/harness"
	"github.com/witan-run/witan/internal/harness/killer"
	"github.com/witan-run/witan/internal/kit/failpoint"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/workdb"
	"github.com/witan-run/witan/internal/work"
)

const (
	publishEnv  = "HARNESS_PUBLISH"
	publishes   = 10
	subscribers = 20
)

// desk is the work on a ground.
type desk struct {
	*work.Service
	g  ground
	db *store.DB
}

func (g ground) desk(ctx context.Context) (*desk, error) {
	o, err := event.NewOrigin(event.LayerDispatch, event.ClassWork, "work", work.EventTypes()...)
	if err != nil {
		return nil, err
	}
	s, err := work.New(workdb.New(), o, work.DefaultConfig())
	if err != nil {
		return nil, err
	}
	db, err := g.open(ctx, nil)
	return &desk{s, g, db}, err
}

func owner() work.Actor {
	return work.Actor{Principal: "person:owner", Trust: 1_000_000, Label: event.NewLabel(event.Person, event.AccountWide())}
}

// wire makes a signal with its subscribers, each in a workspace of its own.
func (d *desk) wire(ctx context.Context) error {
	return d.db.Do(ctx, d.g.Account, func(tx event.Tx) error {
		g, err := d.CreateSignal(tx, owner(), work.NewSignal{Name: "deploy_done"})
		if err != nil {
			return err
		}
		for i := range subscribers {
			w, err := d.CreateWorkspace(tx, owner(), work.NewWorkspace{Name: fmt.Sprint("Subscriber ", i)})
			if err != nil {
				return err
			}
			if _, err := d.CreateTrigger(tx, owner(), work.NewTrigger{Signal: g.ID, Workspace: w.ID, Title: "Follow up", Body: work.PayloadPlace}); err != nil {
				return err
			}
		}
		return nil
	})
}

// publish publishes everything, one after the other, whether it was published
// before or not, and notes what was acknowledged.
func (d *desk) publish(ctx context.Context) error {
	told, err := os.OpenFile(d.g.Told, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for i := range publishes {
		key := fmt.Sprint("release", i)
		err := d.db.Do(ctx, d.g.Account, func(tx event.Tx) error {
			p, err := d.PublishSignal(tx, owner(), work.Publish{Name: "deploy_done", Payload: key, Key: key})
			if err == nil && len(p.Tasks) != subscribers {
				err = fmt.Errorf("%s: %d tasks", key, len(p.Tasks))
			}
			return err
		})
		if err != nil {
			return errors.Join(err, told.Close())
		}
		if err := tell(told, key, nil); err != nil {
			return err
		}
	}
	return told.Close()
}

// publisher is the life of a process that publishes until it is killed.
func (g ground) publisher(ctx context.Context) error {
	d, err := g.desk(ctx)
	if err != nil {
		return err
	}
	failpoint.Hit("publish.opened")
	if err := d.publish(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	d.db.Close()
	return nil
}

// made counts the tasks of each payload.
func (d *desk) made(ctx context.Context) (out map[string]int, err error) {
	err = d.db.View(ctx, d.g.Account, func(tx event.Tx) error {
		out = map[string]int{}
		for after := (id.ID{}); ; {
			tasks, err := d.ListTasks(tx, owner(), work.TaskQuery{Limit: work.MaxPage}, after)
			if err != nil || len(tasks) == 0 {
				return err
			}
			for _, t := range tasks {
				out[t.Body]++
			}
			after = tasks[len(tasks)-1].ID
		}
	})
	return out, err
}

// TestTorturePublishes kills a process that publishes: of each publish there are
// all tasks or none, what was acknowledged is there, and all of them together,
// published again after each death, make exactly 200 tasks (the peer made 4).
func TestTorturePublishes(t *testing.T) {
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) { torturePublishes(t, engine) })
	}
}

func torturePublishes(t *testing.T, engine string) {
	ctx, r := t.Context(), rand.New(rand.NewPCG(7, uint64(len(engine))))
	var log strings.Builder
	k := &killer.Killer{Config: killer.Config{Command: []string{os.Args[0]}, Output: &log}, Limit: time.Second}
	for range harness.Pick(harness.TortureMode(), 1, 3, 30) {
		g := newGround(t, engine)
		k.Config.Env = []string{g.env(), publishEnv + "=1"}
		look := func(do func(*desk) error) {
			t.Helper()
			d, err := g.desk(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer d.db.Close()
			if err := do(d); err != nil {
				t.Fatalf("%v\n%s", err, log.String())
			}
		}
		look(func(d *desk) error { return d.wire(ctx) })
		for life := range 6 {
			p := killer.AtStep("journal.after_commit", 1+r.IntN(2))
			switch life % 3 {
			case 1:
				p = killer.AtStep("journal.before_commit", 1+r.IntN(3))
			case 2:
				p = killer.Random(r, 30*time.Millisecond)
			}
			if _, err := k.Live(ctx, p, nil); err != nil {
				t.Fatalf("life %d, %v: %v\n%s", life, p, err, log.String())
			}
			look(func(d *desk) error {
				made, err := d.made(ctx)
				if err != nil {
					return err
				}
				said, err := g.told()
				for key := range said.acknowledged {
					if made[key] != subscribers {
						t.Errorf("life %d, %v: %s was acknowledged and has %d tasks", life, p, key, made[key])
					}
				}
				for key, n := range made {
					if n != subscribers {
						t.Errorf("life %d, %v: %s has %d tasks", life, p, key, n)
					}
				}
				return err
			})
		}
		look(func(d *desk) error {
			if err := d.publish(ctx); err != nil {
				return err
			}
			made, err := d.made(ctx)
			total := 0
			for _, n := range made {
				total += n
			}
			if len(made) != publishes || total != publishes*subscribers {
				t.Errorf("%d publishes made %d tasks", len(made), total)
			}
			return err
		})
	}
	if err := k.Deaths.Print(os.Stdout); err != nil {
		t.Error(err)
	}
}
