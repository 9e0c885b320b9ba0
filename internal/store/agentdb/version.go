package agentdb

import (
	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
)

func missing(query string) error { return fault.New(fault.NotFound, "%s: no such row", query) }

func readVersion(scan scanner) (v agent.Version, err error) {
	var at int64
	err = scan(&v.Agent, &v.Number, &v.Digest, &v.YAML, &v.EventID, &at)
	v.At = clock.FromMicros(at)
	return v, err
}

// AddVersion implements agent.Store.
func (*Store) AddVersion(tx event.Tx, v agent.Version) (bool, error) {
	n, err := q.Exec(tx, "add_version", tx.Account(), v.Agent, v.Number, v.Digest, v.YAML, v.EventID, us(v.At))
	return n > 0, err
}

// CurrentVersion implements agent.Store.
func (*Store) CurrentVersion(tx event.Tx, name string) (agent.Version, error) {
	return one(tx, "current_version", []any{tx.Account(), name}, readVersion)
}

// GetVersion implements agent.Store.
func (*Store) GetVersion(tx event.Tx, name string, number int) (agent.Version, error) {
	return one(tx, "get_version", []any{tx.Account(), name, number}, readVersion)
}

// ListCurrent implements agent.Store.
func (*Store) ListCurrent(tx event.Tx) ([]agent.Version, error) {
	return list(tx, "list_current", []any{tx.Account()}, readVersion)
}
