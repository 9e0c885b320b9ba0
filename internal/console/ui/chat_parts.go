package ui

// callFlow is the two states of a call: what policy said and what became of the effect.
func callFlow(c CallRow) []FlowStep {
	out := make([]FlowStep, 0, 2)
	if c.Policy.Text != "" {
		out = append(out, c.Policy)
	}
	if c.Effect.Text != "" {
		out = append(out, c.Effect)
	}
	return out
}

func writeTo(name string) string {
	if name == "" {
		return "Write a message"
	}
	return "Write to " + name
}
