package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Dialect is one of the two SQL engines.
type Dialect uint8

// The dialects.
const (
	SQLite Dialect = iota
	Postgres
)

// String returns the name used in query headings and settings.
func (d Dialect) String() string {
	if d == Postgres {
		return "postgres"
	}
	return "sqlite"
}

// Queries is the named SQL of one domain: one text for both engines wherever
// it truly is one. See MustQueries for the format.
type Queries struct {
	byName map[string]*query
}

type query struct {
	name         string
	text         [2]string // by Dialect, placeholders already rebound
	crossAccount bool
}

// MustQueries parses blocks of the form
//
//	-- name: save_task
//	INSERT INTO tasks (account_id, ...) VALUES (?, ...)
//
// A heading may end in a dialect ("-- name: claim postgres") when the texts
// must differ, and in "cross-account" when the query rightly names no account.
// It panics on a bad text: the text is part of the program.
func MustQueries(text string) *Queries {
	q := &Queries{byName: map[string]*query{}}
	var cur *query
	var only []Dialect
	var body strings.Builder
	flush := func() {
		if cur == nil {
			return
		}
		t := strings.TrimSuffix(strings.TrimSpace(body.String()), ";")
		if t == "" {
			panic("store: query " + cur.name + " is empty")
		}
		for _, d := range only {
			if cur.text[d] != "" {
				panic("store: query " + cur.name + " stands twice for " + d.String())
			}
			cur.text[d] = rebind(t, d)
		}
		body.Reset()
	}
	for line := range strings.Lines(text) {
		head, ok := strings.CutPrefix(strings.TrimSpace(line), "-- name:")
		if !ok {
			if strings.HasPrefix(strings.TrimSpace(line), "--") {
				continue
			}
			body.WriteString(line)
			continue
		}
		flush()
		words := strings.Fields(head)
		cur = q.byName[words[0]]
		if cur == nil {
			cur = &query{name: words[0]}
			q.byName[words[0]] = cur
		}
		only = []Dialect{SQLite, Postgres}
		for _, w := range words[1:] {
			switch w {
			case "sqlite":
				only = []Dialect{SQLite}
			case "postgres":
				only = []Dialect{Postgres}
			case "cross-account":
				cur.crossAccount = true
			default:
				panic("store: query " + cur.name + ": unknown word " + w)
			}
		}
	}
	flush()
	return q
}

// rebind numbers the placeholders for PostgreSQL. Question marks inside
// quotes stay.
func rebind(text string, d Dialect) string {
	if d == SQLite {
		return text
	}
	var b strings.Builder
	n, quoted := 0, false
	for _, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
			b.WriteRune(r)
		case r == '?' && !quoted:
			n++
			fmt.Fprintf(&b, "$%d", n)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Names returns the names of all queries, sorted.
func (q *Queries) Names() []string { return slices.Sorted(maps.Keys(q.byName)) }

// Text returns the SQL of a query as it is sent to an engine.
func (q *Queries) Text(name string, d Dialect) string { return q.get(name).text[d] }

// CrossAccount reports whether a query is on the list of those that name no account.
func (q *Queries) CrossAccount(name string) bool { return q.get(name).crossAccount }

func (q *Queries) get(name string) *query {
	if x, ok := q.byName[name]; ok {
		return x
	}
	panic("store: no query named " + name)
}

// Exec runs a writing statement and returns how many rows it touched.
func (q *Queries) Exec(t event.Tx, name string, args ...any) (int64, error) {
	x := mustTx(t)
	if !x.Writable() {
		return 0, fault.New(fault.Internal, "%s: write inside a read-only view", name)
	}
	n, err := x.exec(q.get(name).text[x.db.dialect], bind(args))
	return n, x.classify(err, name)
}

// Row runs a statement that yields one row and scans it. No row is fault.NotFound.
// It also serves INSERT ... RETURNING and UPDATE ... RETURNING.
func (q *Queries) Row(t event.Tx, name string, args []any, dest ...any) error {
	x := mustTx(t)
	r, err := x.query(q.get(name).text[x.db.dialect], bind(args))
	if err != nil {
		return x.classify(err, name)
	}
	defer r.Close()
	if !r.Next() {
		if err := x.note(r.Err()); err != nil { // PostgreSQL's errors come with the rows
			return x.classify(err, name)
		}
		return fault.New(fault.NotFound, "%s: no such row", name)
	}
	if err := r.Scan(dests(dest)...); err != nil {
		return x.classify(err, name)
	}
	// Drain: an UPDATE ... RETURNING is only done when its last row was read.
	for r.Next() {
	}
	r.Close()
	return x.classify(x.note(r.Err()), name)
}

// Each runs a query and calls f for every row. f must not use the transaction
// for further statements; collect first.
func (q *Queries) Each(t event.Tx, name string, args []any, f func(scan func(dest ...any) error) error) error {
	x := mustTx(t)
	r, err := x.query(q.get(name).text[x.db.dialect], bind(args))
	if err != nil {
		return x.classify(err, name)
	}
	defer r.Close()
	scan := func(dest ...any) error { return r.Scan(dests(dest)...) }
	for r.Next() {
		if err := f(scan); err != nil {
			return err
		}
	}
	return x.classify(x.note(r.Err()), name)
}

// EngineQueries lists the engine's own named SQL, for the test that prepares it.
func EngineQueries() []*Queries {
	return []*Queries{keySQL, appendSQL, workSQL, nodeSQL, timerSQL, readSQL, deferredSQL, auditSQL, proofSQL}
}
