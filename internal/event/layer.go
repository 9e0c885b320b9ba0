package event

import "slices"

// Layer is a run-time right to publish (architecture §3; seed 000 "The five layers").
type Layer uint8

// The five layers.
const (
	LayerChannel Layer = iota + 1
	LayerDispatch
	LayerAgent
	LayerExecution
	LayerSystem
)

var layerNames = [...]string{"", "channel", "dispatch", "agent", "execution", "system"}

// String returns the seed's word for the layer.
func (l Layer) String() string {
	if int(l) < len(layerNames) {
		return layerNames[l]
	}
	return ""
}

// ParseLayer is the inverse of String.
func ParseLayer(s string) (Layer, bool) {
	k := slices.Index(layerNames[:], s)
	return Layer(max(k, 0)), k > 0
}

// Class is a class of sources: what kind of component speaks.
type Class string

// The source classes of the registry.
const (
	ClassChannel  Class = "channel"  // an adapter: channel/console, channel/httpin
	ClassDispatch Class = "dispatch" // routing, contacts, outbox
	ClassIdentity Class = "identity" // people, tokens, sign-in
	ClassPolicy   Class = "policy"   // decisions, rules, approvals, halt
	ClassWork     Class = "work"     // workspaces, tasks, messages, claims
	ClassAgent    Class = "agent"    // a resident agent's run
	ClassSkill    Class = "skill"    // the executor behind Invoke
	ClassModel    Class = "model"    // model calls and prompts
	ClassSystem   Class = "system"   // bus, timers, store, restore
)
