package policy

import (
	"encoding/hex"
	"slices"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/id"
)

// Digest returns the digest of the exact call, in hex: who acts, for whom, skill
// and manifest hash, canonical arguments, targets, recipients and labels. Any
// change of any of them is another call (INV-7).
func (r Request) Digest() string {
	var b canon.Binary
	b.String("witan/call/1")
	r.act(&b)
	b.String(r.Actor)
	requester, ok := r.Requester.Get()
	b.Bool(ok)
	b.String(requester)
	why, ok := r.Why.Get()
	b.Bool(ok)
	b.String(why.String())
	b.Uint64(uint64(len(r.What)))
	for _, w := range r.What {
		b.String(w.Pointer)
		b.String(w.Label.String())
	}
	return sum(&b)
}

// Shape returns the digest of what would happen, whoever wants it and whatever
// led to it: skill, manifest, arguments, targets, recipients. A denied shape is
// not raised again in the same run, also when the context has changed since.
func (r Request) Shape() string {
	var b canon.Binary
	b.String("witan/act/1")
	r.act(&b)
	return sum(&b)
}

func (r *Request) act(b *canon.Binary) {
	b.String(r.Skill)
	b.String(r.Manifest)
	b.Bytes(r.Arguments)
	targets, ok := r.Targets.Get()
	b.Bool(ok)
	b.Uint64(uint64(len(targets)))
	for _, t := range targets {
		b.String(t.Pointer)
		b.String(t.Value)
	}
	recipients, ok := r.Recipients.Get()
	b.Bool(ok)
	b.Uint64(uint64(len(recipients)))
	for _, to := range recipients {
		b.String(to.Principal)
		b.String(to.Channel)
	}
	w, ok := r.Workspace.Get()
	b.Bool(ok)
	b.Bytes(w[:])
}

// targetsDigest names the set of targets, for endorsements.
func (r *Request) targetsDigest() string {
	list := r.Targets.Or(nil)
	values := make([]string, len(list))
	for i, t := range list {
		values[i] = t.Value
	}
	slices.Sort(values)
	var b canon.Binary
	b.String("witan/targets/1")
	for _, v := range slices.Compact(values) {
		b.String(v)
	}
	return sum(&b)
}

// approvalDigest binds a person's answer: the exact call, which asking of it,
// until when it holds, and how often.
func approvalDigest(call string, approval id.ID, expiresAt int64, uses int) string {
	var b canon.Binary
	b.String("witan/approval/1")
	b.String(call)
	b.Bytes(approval[:])
	b.Int64(expiresAt)
	b.Int64(int64(uses))
	return sum(&b)
}

func sum(b *canon.Binary) string {
	s := b.Sum()
	return hex.EncodeToString(s[:])
}
