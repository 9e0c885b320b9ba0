package workdb

import (
	"errors"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/work"
)

// GetDocument implements work.PanoStore.
func (*Store) GetDocument(tx event.Tx, path string, revision int64) (work.Document, error) {
	name, args := "document", []any{tx.Account(), path}
	if revision > 0 {
		name, args = "revision", append(args, revision)
	}
	return scanDocument(func(d ...any) error { return q.Row(tx, name, args, d...) })
}

func scanDocument(scan func(...any) error) (d work.Document, err error) {
	var at int64
	var label string
	if err := scan(&d.ID, &d.Path, &d.Revision, &d.Digest, &d.Size, &d.By, &at, &d.Event, &d.Subject, &label, &d.Text); err != nil {
		return work.Document{}, err
	}
	d.At = clock.FromMicros(at)
	d.Label, err = event.ParseLabel(label)
	return d, err
}

// AddRevision implements work.PanoStore. The head row is the account's, whoever
// wrote the revision: erasing a writer takes their words, not the document.
func (*Store) AddRevision(tx event.Tx, d work.Document) (bool, error) {
	var n int64
	var err error
	if d.Revision == 1 {
		n, err = q.Exec(tx, "begin_document", tx.Account(), d.ID, d.Path, tx.Account(), d.Label.String())
	} else {
		n, err = q.Exec(tx, "move_document", d.Revision, d.Label.String(), tx.Account(), d.ID, d.Revision-1)
	}
	if err != nil || n == 0 {
		return false, err
	}
	_, err = q.Exec(tx, "add_revision", tx.Account(), d.ID, d.Revision, d.Subject, d.Label.String(), d.Text, d.Digest, d.Size, d.By, d.Event, clock.Micros(d.At))
	return err == nil, err
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// EachDocument implements work.PanoStore.
func (*Store) EachDocument(tx event.Tx, after string, texts bool, f func(work.Document) bool) error {
	name := "documents"
	if texts {
		name = "texts"
	}
	err := q.Each(tx, name, []any{tx.Account(), after}, func(scan func(...any) error) error {
		d, err := scanDocument(scan)
		if err == nil && !f(d) {
			err = errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
