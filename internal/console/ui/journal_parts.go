package ui

import "github.com/a-h/templ"

func treeAttrs(n TreeNode) templ.Attributes {
	at := templ.Attributes{"aria-selected": "false"}
	if n.On {
		at["aria-selected"] = "true"
	}
	if len(n.Children) > 0 {
		at["aria-expanded"] = "true"
	}
	return at
}

func playLabel(r Replay) string {
	if r.claimed() {
		return "Replay again"
	}
	return "Replay"
}

func replayStatus(l ReplayLabel) Status {
	switch l {
	case ReplayExact:
		return StatusProven
	case ReplayApproximate:
		return StatusAsserted
	case ReplayDivergent:
		return StatusFailed
	case ReplayNone:
		return StatusIdle
	}
	return StatusIdle
}

func replayWords(r Replay) string {
	of := count(r.Exact) + " of " + count(r.Total) + " " + plural(r.Total, "step", "steps") + " byte-equal"
	return string(r.Label) + ", " + of
}

// dotState is what a dot may claim: nothing before the replay has run.
func dotState(r Replay, s ReplayStep) ReplayLabel {
	if !r.claimed() {
		return ReplayNone
	}
	return s.State
}

func dotStatus(r Replay, s ReplayStep) Status { return replayStatus(dotState(r, s)) }

func dotWord(r Replay, s ReplayStep) string {
	if l := dotState(r, s); l != ReplayNone {
		return string(l)
	}
	return "not replayed"
}

func dotClass(r Replay, s ReplayStep) string {
	switch dotState(r, s) {
	case ReplayExact:
		return "exact"
	case ReplayDivergent:
		return "divergent"
	case ReplayApproximate:
		return "approx"
	case ReplayNone:
		return ""
	}
	return ""
}
