package work

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Revisions says at which revision of a row each of its fields was last
// written. So two writers who saw the same revision both win on two fields, and
// of two on one field the later one is told.
type Revisions map[string]int64

// String renders the revisions as they are stored.
func (r Revisions) String() string {
	var b strings.Builder
	for _, f := range slices.Sorted(maps.Keys(r)) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f + "=" + strconv.FormatInt(r[f], 10))
	}
	return b.String()
}

// ParseRevisions is the inverse of String.
func ParseRevisions(s string) (Revisions, error) {
	r := Revisions{}
	for _, part := range strings.Fields(s) {
		f, n, _ := strings.Cut(part, "=")
		v, err := strconv.ParseInt(n, 10, 64)
		if err != nil || f == "" {
			return nil, fault.New(fault.Corrupt, "%q are no revisions", clip(s))
		}
		r[f] = v
	}
	return r, nil
}

// edit collects the changes of one write to one row.
type edit struct {
	seen    int64 // the revision that the writer saw; 0 says nothing about it
	next    int64
	revs    Revisions
	changes []event.FieldChange
	err     error
}

// begin starts an edit of a row at a revision.
func begin(seen, now int64, revs Revisions) *edit {
	e := &edit{seen: seen, next: now + 1, revs: maps.Clone(revs)}
	if e.revs == nil {
		e.revs = Revisions{}
	}
	if seen < 0 || seen > now {
		e.err = fault.New(fault.Invalid, "%d is no revision", seen).On("revision")
	}
	return e
}

// set writes one field if want is given and differs from what stands there.
func set[T comparable](e *edit, field string, have *T, want *T) {
	if want == nil || *have == *want || e.err != nil {
		return
	}
	if e.stale(field) {
		return
	}
	raw, err := json.Marshal(*want)
	if err != nil {
		e.err = fault.New(fault.Internal, "encode %s: %w", field, err)
		return
	}
	*have = *want
	e.note(field, raw)
}

func (e *edit) stale(field string) bool {
	if e.seen == 0 || e.revs[field] <= e.seen {
		return false
	}
	e.err = fault.New(fault.Conflict, "%s was changed meanwhile (at revision %d, you saw %d)", field, e.revs[field], e.seen).
		On(field).WithFix("look at it again")
	return true
}

func (e *edit) note(field string, value json.RawMessage) {
	e.revs[field] = e.next
	e.changes = append(e.changes, event.FieldChange{Field: field, Value: value})
}

func (e *edit) changed(field string) bool {
	return slices.ContainsFunc(e.changes, func(c event.FieldChange) bool { return c.Field == field })
}

// fields names what changed, for a sentence.
func (e *edit) fields() string {
	names := make([]string, len(e.changes))
	for i, c := range e.changes {
		names[i] = c.Field
	}
	slices.SortFunc(names, cmp.Compare[string])
	return strings.Join(names, ", ")
}
