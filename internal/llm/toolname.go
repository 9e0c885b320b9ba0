package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Names translates tool names for wires that allow only letters, digits, "_" and
// "-", at most 64 of them (all three do). Our names hold dots.
type Names struct {
	wire map[string]string // ours to the wire's
	ours map[string]string // the wire's to ours
}

const maxWireName = 64

// WireNames returns the table for the tools of a request, in their order, and
// for the calls in its history, so that the same request has the same table.
func WireNames(r Request) Names {
	n := Names{wire: map[string]string{}, ours: map[string]string{}}
	for _, t := range r.Tools {
		n.add(t.Name)
	}
	for _, m := range r.Messages {
		for _, c := range m.Calls() {
			n.add(c.Name)
		}
	}
	return n
}

func (n Names) add(name string) {
	if _, ok := n.wire[name]; ok {
		return
	}
	w := strings.Map(func(r rune) rune {
		if r < 0x80 && wireByte(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if _, taken := n.ours[w]; taken || len(w) > maxWireName {
		sum := sha256.Sum256([]byte(name))
		tail := "_" + hex.EncodeToString(sum[:6])
		w = w[:min(len(w), maxWireName-len(tail))] + tail
	}
	n.wire[name], n.ours[w] = w, name
}

// Wire returns the wire's name for ours.
func (n Names) Wire(name string) string { return n.wire[name] }

// Ours returns our name for the wire's; a name that we did not offer stays as
// the model wrote it, for the caller to refuse.
func (n Names) Ours(name string) string {
	if o, ok := n.ours[name]; ok {
		return o
	}
	return name
}

func wireByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// WireID returns a call id that every wire accepts: at most 40 of the same
// characters. An id of another provider's making is replaced by its digest, the
// same for a call and its result.
func WireID(callID string) string {
	ok := len(callID) > 0 && len(callID) <= 40
	for i := 0; ok && i < len(callID); i++ {
		ok = wireByte(callID[i])
	}
	if ok {
		return callID
	}
	sum := sha256.Sum256([]byte(callID))
	return "call_" + hex.EncodeToString(sum[:12])
}

// MakeID returns a call id for a server that gave none, from what it did give.
func MakeID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return "call_" + hex.EncodeToString(h.Sum(nil)[:12])
}
