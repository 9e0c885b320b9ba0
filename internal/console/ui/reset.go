package ui

// ResetView sets a way to sign in with a one-time link that an owner, or the
// machine, made.
type ResetView struct {
	Head    Head
	Address string
	Code    string
	// Name and SignInName are whose link it is; EndsIn how long it works.
	Name, SignInName string
	EndsIn           string
	MinPassword      int
	Errors           map[string]string
	// Gone is true when the link does not work.
	Gone bool
}

func (v ResetView) fault(field string) string { return v.Errors[field] }
