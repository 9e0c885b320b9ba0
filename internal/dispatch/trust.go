package dispatch

import "github.com/witan-run/witan/internal/kit/fault"

// micro is 1.0 in micro-units.
const micro = 1_000_000

// Weights are the factors of the trust score, in micro-units (seed 000; the
// numbers are those of its documented defaults).
type Weights struct {
	Channel, Contact, Injection int64
	Floor                       int32 // below it a message is held
}

// DefaultWeights are 0.4, 0.4, 0.2 and a floor of 0.2.
func DefaultWeights() Weights {
	return Weights{Channel: 400_000, Contact: 400_000, Injection: 200_000, Floor: 200_000}
}

func (w Weights) check() error {
	for _, v := range []int64{w.Channel, w.Contact, w.Injection, int64(w.Floor)} {
		if v < 0 || v > micro {
			return fault.New(fault.Invalid, "trust weights and floor lie between 0 and 1").On("dispatch.trust")
		}
	}
	return nil
}

// Trust is a score with what it was made of, all in micro-units.
type Trust struct {
	Channel   int32 // how far the medium can be trusted to say who speaks
	Contact   int32 // how sure we are of the contact
	Injection int32 // risk that the text tries to steer an agent
	Score     int32
}

// Score returns the trust of a message: weighted sum, clamped to [0, 1].
// It is monotonic: up in channel and contact, down in injection.
func (w Weights) Score(channel, contact, injection int32) Trust {
	clamp := func(v int32) int64 { return min(max(int64(v), 0), micro) }
	s := (w.Channel*clamp(channel) + w.Contact*clamp(contact) - w.Injection*clamp(injection)) / micro
	return Trust{Channel: channel, Contact: contact, Injection: injection, Score: int32(min(max(s, 0), micro))}
}

// Confidence in a contact by its standing, micro-units. A person who signed in
// is sure; a contact that a person confirmed is as sure as the channel's proof;
// a claim is worth no more than a name nobody checked.
const (
	confidencePerson      = micro
	confidenceConfirmed   = 800_000
	confidenceProvisional = 300_000
)
