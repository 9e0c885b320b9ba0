package ui

import (
	"strconv"

	"github.com/a-h/templ"
)

// view says what a narrow screen shows: the list, or the object that the address names.
func view(explicit bool) string {
	if explicit {
		return "object"
	}
	return "list"
}

// eagerAttr marks a card whose next change this person waits for, so that it may be
// redrawn under the pointer.
func eagerAttr(a *Approval) templ.Attributes {
	if a == nil || !a.eager() {
		return nil
	}
	return templ.Attributes{"data-eager": true}
}

// itemState changes whenever the answers that the item offers change; the script reads
// it to notice that a card was answered elsewhere.
func itemState(v InboxView) string {
	switch {
	case v.Approval != nil:
		return v.Approval.ID + " " + string(v.Approval.State) + " " + strconv.FormatInt(v.Approval.Version, 10)
	case v.Effect != nil:
		return v.Effect.ID + " " + strconv.FormatBool(v.Effect.Settled.Known()) + " " + strconv.FormatInt(v.Effect.Version, 10)
	case v.Question != nil:
		return v.Question.ID + " " + strconv.FormatBool(v.Question.Answered.Known()) + " " + strconv.FormatInt(v.Question.Version, 10)
	case v.Parked != nil:
		return v.Parked.ID
	case v.Held != nil:
		return v.Held.ID + " " + strconv.FormatBool(v.Held.Answered.Known()) + " " + strconv.FormatInt(v.Held.Version, 10)
	}
	return ""
}

func known(in []QuietLine) []QuietLine {
	out := make([]QuietLine, 0, len(in))
	for _, l := range in {
		if l.Fact.Known() {
			out = append(out, l)
		}
	}
	return out
}

func knownFacts(in []Fact) []Fact {
	out := make([]Fact, 0, len(in))
	for _, f := range in {
		if f.Known() {
			out = append(out, f)
		}
	}
	return out
}

func num(n int64) string { return strconv.FormatInt(n, 10) }

// ringDash is the dash array of the undo ring: 100 units are the whole circle.
func ringDash(u *Undo) string {
	if u == nil || u.Total <= 0 {
		return "0 100"
	}
	left := min(max(u.Left, 0), u.Total)
	return strconv.Itoa(left*100/u.Total) + " 100"
}

// inputType is the control of a schema's scalar.
func inputType(kind string) string {
	switch kind {
	case "number", "integer":
		return "number"
	}
	return "text"
}

// signOf is the diff sign as printed; a true minus lines up with the plus.
func signOf(op DiffOp) string {
	switch op {
	case DiffAdd:
		return "+"
	case DiffDel:
		return "−"
	case DiffSame:
		return ""
	}
	return ""
}

func diffClass(op DiffOp) string {
	switch op {
	case DiffAdd:
		return "a"
	case DiffDel:
		return "d"
	case DiffSame:
		return ""
	}
	return ""
}

func diffWord(op DiffOp) string {
	switch op {
	case DiffAdd:
		return "added"
	case DiffDel:
		return "removed"
	case DiffSame:
		return ""
	}
	return ""
}
