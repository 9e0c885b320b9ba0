package ui

func knownSetup(in []SetupFact) []SetupFact {
	out := make([]SetupFact, 0, len(in))
	for _, f := range in {
		if f.Fact.Known() {
			out = append(out, f)
		}
	}
	return out
}

func orName(name string) string {
	if name == "" {
		return "NAME"
	}
	return name
}
