package store

import (
	"sync"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// dataKey is an unwrapped subject key with the key epoch it was read in.
type dataKey struct {
	key   *secret.DataKey
	epoch int64
	// madeAt is later than every event recorded before the key was made: an
	// older event was sealed under a key that an erasure destroyed.
	madeAt time.Time
}

type keyName struct{ account, subject id.ID }

// keyCache holds unwrapped subject keys. An erasure raises the account's key
// epoch in journal_heads; the append phase compares and drops what is older,
// so that no node seals with a key that another node has destroyed.
type keyCache struct {
	mu sync.Mutex
	m  map[keyName]*dataKey // guarded by mu
}

const maxKeys = 50_000

func newKeyCache() *keyCache { return &keyCache{m: map[keyName]*dataKey{}} }

func (c *keyCache) get(n keyName) *dataKey { c.mu.Lock(); defer c.mu.Unlock(); return c.m[n] }

func (c *keyCache) put(n keyName, k *dataKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= maxKeys {
		clear(c.m)
	}
	c.m[n] = k
}

func (c *keyCache) dropAccount(account id.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.m {
		if n.account == account {
			delete(c.m, n)
		}
	}
}

var keySQL = MustQueries(`
-- name: get_key
SELECT wrapped, made_at FROM subject_keys WHERE account_id = ? AND subject_id = ?
-- name: add_key
INSERT INTO subject_keys (account_id, subject_id, wrapped, made_at) VALUES (?, ?, ?, ?)
ON CONFLICT (account_id, subject_id) DO NOTHING
-- name: del_key
DELETE FROM subject_keys WHERE account_id = ? AND subject_id = ?
`)

func keyAAD(account, subject id.ID) []byte {
	return append(append([]byte{}, account[:]...), subject[:]...)
}

// knownKey returns the data key of a subject, NotFound if there is none. epoch
// is the account's key epoch as read with the head row.
func (x *tx) knownKey(subject id.ID, epoch int64) (*dataKey, error) {
	n := keyName{x.Account(), subject}
	if k := x.newKeys[subject]; k != nil && k.epoch == epoch {
		return k, nil
	}
	if k := x.db.keys.get(n); k != nil && (k.epoch == epoch || x.db.lite != nil) { // one process drops its own keys
		return k, nil
	}
	var wrapped []byte
	var made int64
	if err := keySQL.Row(x, "get_key", []any{x.Account(), subject}, &wrapped, &made); err != nil {
		return nil, err
	}
	d, err := x.db.keyring.Unwrap(wrapped, keyAAD(x.Account(), subject))
	if err != nil {
		return nil, fault.New(fault.Corrupt, "open the data key of subject %s: %w", subject, err)
	}
	k := &dataKey{d, epoch, clock.FromMicros(made)}
	x.hold(subject, k)
	if !x.Writable() { // a snapshot holds committed rows only
		x.db.keys.put(n, k)
	}
	return k, nil
}

// sealingKey returns the data key of a subject and makes it if there is none.
func (x *tx) sealingKey(subject id.ID, h *head) (*dataKey, error) {
	k, err := x.knownKey(subject, h.keyEpoch)
	if !fault.Is(err, fault.NotFound) {
		return k, err
	}
	made := x.Now()
	if !made.After(h.recorded) {
		made = h.recorded.Add(time.Microsecond)
	}
	d, err := x.db.keyring.NewDataKey()
	if err != nil {
		return nil, err
	}
	wrapped, err := x.db.keyring.Wrap(d, keyAAD(x.Account(), subject))
	if err != nil {
		return nil, err
	}
	added, err := keySQL.Exec(x, "add_key", x.Account(), subject, wrapped, clock.Micros(made))
	if err != nil {
		return nil, err
	}
	if added == 0 { // another transaction was first
		return x.knownKey(subject, h.keyEpoch)
	}
	k = &dataKey{d, h.keyEpoch, made}
	x.hold(subject, k)
	return k, nil
}

// hold keeps a key for this transaction. A writing one may have read the row of
// a key that is not committed yet, its own or that of a member before it in the
// lane: were it cached at once, a batch that is rolled back would leave a key
// behind that is in no row, and what is sealed with it could never be opened.
func (x *tx) hold(subject id.ID, k *dataKey) {
	if x.newKeys == nil {
		x.newKeys = map[id.ID]*dataKey{}
	}
	x.newKeys[subject] = k
}

// sealBody seals e's encoded body under its subject's key.
func (x *tx) sealBody(e *event.Event, raw []byte, h *head) error {
	k, err := x.sealingKey(e.Subject, h)
	if err != nil {
		return err
	}
	if e.RecordedAt.Before(k.madeAt) {
		e.RecordedAt = k.madeAt
	}
	if e.Sealed, err = secret.SealWith(k.key, x.db.opts.Random, raw, e.ID[:]); err != nil {
		return err
	}
	e.BodyCommit = event.Commit(e.Sealed)
	return nil
}

// openBody decrypts and decodes e's body. A destroyed key makes it Erased.
func (x *tx) openBody(e *event.Event, epoch int64) error {
	k, err := x.knownKey(e.Subject, epoch)
	if fault.Is(err, fault.NotFound) || err == nil && e.RecordedAt.Before(k.madeAt) {
		e.Erased = true
		return nil
	}
	if err != nil {
		return err
	}
	raw, err := secret.OpenWith(k.key, e.Sealed, e.ID[:])
	if err != nil {
		return fault.New(fault.Corrupt, "event %d (%s): body does not open: %w", e.Seq, e.ID, err)
	}
	return event.DecodeBody(e, raw)
}

// keepKeys makes the keys of a committed transaction known to later ones.
func (db *DB) keepKeys(x *tx) {
	for s, k := range x.newKeys {
		db.keys.put(keyName{x.Account(), s}, k)
	}
}
