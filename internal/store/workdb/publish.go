package workdb

import (
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/work"
)

const publishColumns = `id, signal_id, task_id, author, subject_id, trust, label, payload, faq, chain, stopped, passed, at`

// keyDigest is what is kept of an author's key; nil for none.
func keyDigest(author, key string) any {
	if key == "" {
		return nil
	}
	d := canon.Digest("witan/publish-key/1", []byte(author+"\x00"+key))
	return d[:]
}

// AddPublish implements work.Store.
func (*Store) AddPublish(tx event.Tx, p work.Published, key string) (bool, error) {
	faq, err := toText(p.FAQ)
	if err != nil {
		return false, err
	}
	passed, err := toText(p.Passed)
	if err != nil {
		return false, err
	}
	words := make([]string, len(p.Chain))
	for i, g := range p.Chain {
		words[i] = g.String()
	}
	n, err := q.Exec(tx, "add_publish", tx.Account(), p.ID, p.SignalID, p.TaskID, keyDigest(p.Author, key), p.Author, p.Subject, p.Trust,
		p.Label.String(), p.Payload, faq, strings.Join(words, " "), p.Stopped, passed, clock.Micros(p.At))
	return n == 1, err
}

func published(tx event.Tx, name string, args ...any) (work.Published, error) {
	p, err := scanPublish(func(d ...any) error { return q.Row(tx, name, append([]any{tx.Account()}, args...), d...) })
	if err != nil {
		return p, err
	}
	return p, spawns(tx, &p)
}

// PublishOfTask implements work.Store.
func (*Store) PublishOfTask(tx event.Tx, task, signal id.ID) (work.Published, error) {
	return published(tx, "publish_of_task", task, signal)
}

// PublishOfKey implements work.Store.
func (*Store) PublishOfKey(tx event.Tx, author, key string) (work.Published, error) {
	return published(tx, "publish_of_key", keyDigest(author, key))
}

// ListPublishes implements work.Store.
func (*Store) ListPublishes(tx event.Tx, signal, before id.ID, limit int) (out []work.Published, err error) {
	err = q.Each(tx, "publishes", []any{tx.Account(), signal, bound(before), limit}, func(scan func(...any) error) error {
		p, err := scanPublish(scan)
		out = append(out, p)
		return err
	})
	for i := range out {
		if err == nil {
			err = spawns(tx, &out[i])
		}
	}
	return out, err
}

// bound is an upper bound of ids: the id itself, or above all of them.
func bound(i id.ID) []byte {
	if i.IsZero() {
		return slices.Repeat([]byte{0xff}, len(i))
	}
	return i[:]
}

// ChainOf implements work.Store.
func (*Store) ChainOf(tx event.Tx, task id.ID) ([]id.ID, error) {
	var text string
	if err := q.Row(tx, "chain_of", []any{tx.Account(), tx.Account(), task}, &text); err != nil {
		return nil, err
	}
	return parseChain(text)
}

func parseChain(text string) (out []id.ID, err error) {
	for _, word := range strings.Fields(text) {
		i, err := id.Parse(word)
		if err != nil {
			return nil, fault.New(fault.Corrupt, "a chain: %w", err)
		}
		out = append(out, i)
	}
	return out, nil
}

// AddSpawn implements work.Store.
func (*Store) AddSpawn(tx event.Tx, publish id.ID, m work.Made) error {
	_, err := q.Exec(tx, "add_spawn", tx.Account(), m.Task, publish, m.Trigger, m.Workspace, m.Key)
	return err
}

func spawns(tx event.Tx, p *work.Published) error {
	return q.Each(tx, "spawns", []any{tx.Account(), p.ID}, func(scan func(...any) error) error {
		var m work.Made
		err := scan(&m.Trigger, &m.Workspace, &m.Task, &m.Key)
		p.Tasks = append(p.Tasks, m)
		return err
	})
}

// TasksOfSignal implements work.Store.
func (*Store) TasksOfSignal(tx event.Tx, signal, before id.ID, limit int) ([]work.Task, error) {
	return tasks(tx, "tasks_of_signal", signal, bound(before), limit)
}

func scanPublish(scan func(...any) error) (p work.Published, err error) {
	var label, faq, chain, passed string
	var trust, at int64
	if err := scan(&p.ID, &p.SignalID, &p.TaskID, &p.Author, &p.Subject, &trust, &label, &p.Payload, &faq, &chain, &p.Stopped, &passed, &at); err != nil {
		return work.Published{}, err
	}
	p.Trust, p.At = int32(trust), clock.FromMicros(at)
	if p.FAQ, err = fromText[event.QA](faq); err != nil {
		return p, err
	}
	if p.Passed, err = fromText[event.SignalPassed](passed); err != nil {
		return p, err
	}
	if p.Chain, err = parseChain(chain); err != nil {
		return p, err
	}
	p.Label, err = event.ParseLabel(label)
	return p, err
}
