// Package skill holds the catalogue of skills and the one door to effects.
//
// Purpose: an agent says skill.invoke; OnInvoke checks the call against the
// numbered catalogue, asks policy, and writes the effect row; Work carries it
// out through Invoke; every outcome ends in exactly one skill.result. A person
// settles what nobody can tell (architecture §5).
//
// Invariants kept here:
//   - INV-5 no effect without a decision, a ledger row and an idempotency key.
//     The row says dispatching, durably, before the first byte leaves, so a
//     crash never leaves a state that could be misread
//   - INV-6 every write of a worker is guarded by its lease and by the row's fence
//   - INV-7 an approval serves one effect, and only for the call that was shown
//   - a call is checked twice by the same code: when it is asked for, and again
//     in the commit that dispatches it; what changed in between refuses it
//   - a result's label is the join of the call's, the manifest's and the
//     executable's own: it never rises here (INV-8)
//
// Steps of one effect:
//
//	asked -> intended -> dispatching -> confirmed | failed | unknown
//	class read: intended -> confirmed | failed, one row and no dispatching
//	anything but dispatching -> denied | refused (nothing left)
//	dispatching -> intended (known not to have left)
//	intended | dispatching -> held (after a restore), until a person decides
//
// It imports kit, event and skill/manifest. Each attempt runs in a goroutine of
// its own; Service counts them, Close waits for them, and one that hangs past
// its timeout stays counted as a stray and blocks further calls of its skill.
package skill
