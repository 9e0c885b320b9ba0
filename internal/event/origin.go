package event

import (
	"regexp"
	"slices"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Origin is the right to publish: a layer, a source and the types it may say.
// It is a value that app hands to each component; the zero Origin may say
// nothing, and nobody holds "all" (narrower than seed 000, ADR-0001).
//
// It guards against mistakes and confused deputies, not against hostile code in
// this process (docs/threat-model.md).
type Origin struct {
	layer  Layer
	class  Class
	source string
	types  []Type
}

var sourceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._:/-]{0,79}$`)

// NewOrigin makes a right to publish types as source ("skill", "channel/cli").
// Every type must list this layer and class in the registry. Only app calls it.
func NewOrigin(layer Layer, class Class, source string, types ...Type) (Origin, error) {
	if !sourceName.MatchString(source) {
		return Origin{}, fault.New(fault.Invalid, "%q is not a source name", source).On("source")
	}
	if len(types) == 0 {
		return Origin{}, fault.New(fault.Invalid, "origin %s names no type", source).On("types")
	}
	for _, t := range types {
		row, ok := Lookup(t)
		if !ok {
			return Origin{}, fault.New(fault.Invalid, "unknown event type %q", t).On("types")
		}
		if !slices.Contains(row.Layers, layer) || !slices.Contains(row.Classes, class) {
			return Origin{}, fault.New(fault.Denied, "%s (layer %s, class %s) may not publish %s", source, layer, class, t)
		}
	}
	return Origin{layer: layer, class: class, source: source, types: slices.Clone(types)}, nil
}

// As returns the same right for one named member of the source: an agent, a
// person, an account on a channel. The name becomes part of source_id.
func (o Origin) As(name string) Origin { o.source = o.source + "/" + name; return o }

// Layer returns the layer the origin speaks in.
func (o Origin) Layer() Layer { return o.layer }

// Source returns the stable name of the component, the seed's source_id.
func (o Origin) Source() string { return o.source }

// may reports whether the origin holds the right to say t.
func (o Origin) may(t Type) error {
	if o.layer == 0 || !slices.Contains(o.types, t) {
		return fault.New(fault.Denied, "origin %q may not publish %s", o.source, t)
	}
	if !sourceName.MatchString(o.source) {
		return fault.New(fault.Invalid, "%q is not a source name", o.source).On("source")
	}
	return nil
}
