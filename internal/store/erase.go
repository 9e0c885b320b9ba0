package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Erase destroys a subject's data key, purges the projections that the
// erasable directives list and records it. Every body sealed under the key is
// gone from the journal and from every backup made with this keyring's list of
// erasures; the chain still verifies, because hashes cover sealed bytes.
func (db *DB) Erase(ctx context.Context, account, subject id.ID, by string, o event.Origin) error {
	if subject == account {
		return fault.New(fault.Invalid, "the account itself cannot be erased as a subject").On("subject")
	}
	// The list outside the database first: if we die after it, nobody was told
	// that it is done, and asking again does it; a restore of any backup applies
	// it. The other order could forget it. A restart does not: what the subject
	// said since an erasure has a key of its own, which must stay.
	if err := db.keyring.MarkErased(subject); err != nil {
		return fault.Wrap(fault.Unavailable, err, "note the erasure in the keyring")
	}
	err := db.doAlone(ctx, account, func(t event.Tx) error {
		rows, err := purge(t, subject)
		if err != nil {
			return err
		}
		_, err = t.Emit(o, event.Draft{
			Payload: event.SubjectErased{Subject: subject, By: by, Rows: rows},
			Label:   event.NewLabel(event.Person, event.AccountWide()),
			Summary: "A subject's data was erased.",
		})
		return err
	})
	db.keys.dropAccount(account)
	return err
}

// purge removes a subject's key and rows. The key epoch rises with it, so that
// no node goes on sealing with a cached key. It rises first: that takes the head
// row, so whoever is about to commit something of the subject on PostgreSQL is
// through with it before the rows are deleted, or comes after all of this.
func purge(t event.Tx, subject id.ID) (rows int64, err error) {
	if _, err := auditSQL.Exec(t, "bump_keys", t.Account()); err != nil {
		return 0, err
	}
	if _, err := keySQL.Exec(t, "del_key", t.Account(), subject); err != nil {
		return 0, err
	}
	_, erasable, _, err := Directives()
	if err != nil {
		return 0, err
	}
	x := mustTx(t)
	for _, e := range erasable {
		text := fmt.Sprintf("DELETE FROM %s WHERE account_id = ? AND %s = ?", e.Table, e.Subject)
		if e.Blank != nil {
			text = fmt.Sprintf("UPDATE %s SET %s = '' WHERE account_id = ? AND %s = ?", e.Table, strings.Join(e.Blank, " = '', "), e.Subject)
		}
		n, err := x.exec(rebind(text, x.db.dialect), bind([]any{t.Account(), subject}))
		if err != nil {
			return rows, x.classify(err, "erase "+e.Table)
		}
		rows += n
	}
	x.db.keys.dropAccount(t.Account()) // a member behind this one must not seal with it
	x.db.headChanged(t)
	if lite := x.db.lite; lite != nil { // the log still holds the page with the key
		AfterCommit(t, func() { lite.scrub.Store(true) })
	}
	return rows, nil
}

// reapplyErasures purges again what the keyring lists as erased: a restored
// database may hold keys and rows from before an erasure.
func (db *DB) reapplyErasures(ctx context.Context, account id.ID) error {
	for _, s := range db.keyring.Erased() {
		if err := db.doAlone(ctx, account, func(t event.Tx) error {
			_, err := purge(t, id.ID(s))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// headChanged makes the lane read the account's head row again, in this
// transaction and after it.
func (db *DB) headChanged(t event.Tx) {
	mustTx(t).rehead = true
	if db.lite != nil {
		AfterCommit(t, func() { db.lite.lane.keysChanged(t.Account()) })
	}
}
