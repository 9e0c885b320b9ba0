package event

import (
	"cmp"
	"reflect"
	"slices"
)

// Row is one line of the registry: an event type, who may say it, what it means.
type Row struct {
	Type    Type
	Version int // of the payload that is written today
	Layers  []Layer
	Classes []Class
	New     func() Payload // an empty payload to decode into
	Doc     string         // one sentence for docs/events.md
	// Upcast turns a stored payload of an older version into today's JSON.
	// Index i upcasts version i+1 to i+2.
	Upcast []func([]byte) ([]byte, error)
}

// row builds a registry line for payload type P.
func row[P Payload](version int, l []Layer, c []Class, doc string) Row {
	var zero P
	typ := reflect.TypeFor[P]()
	return Row{Type: zero.EventType(), Version: version, Layers: l, Classes: c, Doc: doc,
		New: func() Payload { return reflect.New(typ).Interface().(Payload) }}
}

func layers(l ...Layer) []Layer  { return l }
func classes(c ...Class) []Class { return c }

// table is the registry: the whole vocabulary by family. It never changes at run time.
var table = slices.Concat(channelRows, agentRows, skillRows, policyRows, workRows, signalRows, identityRows, modelRows, memoryRows, systemRows)

var byType = func() map[Type]Row {
	m := make(map[Type]Row, len(table))
	for _, r := range table {
		m[r.Type] = r
	}
	return m
}()

// Lookup returns the registry row of t.
func Lookup(t Type) (Row, bool) { r, ok := byType[t]; return r, ok }

// Rows returns the registry, sorted by type.
func Rows() []Row {
	out := slices.Clone(table)
	slices.SortFunc(out, func(a, b Row) int { return cmp.Compare(a.Type, b.Type) })
	return out
}
