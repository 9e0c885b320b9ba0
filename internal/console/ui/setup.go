package ui

// SetupView is the first start: one page, no wizard, outside the shell.
type SetupView struct {
	Head Head
	// Code is the one-time code of the link; it travels in the form.
	Code string
	// EndsIn is how long the link still works, "41 min".
	EndsIn string
	// At is the time of the first start, printed in the head.
	At string
	// Name and SignInName fill the form again after a refusal.
	Name, SignInName string
	// Errors by field name: name, signInName, password, password2, code, "" for the form.
	Errors map[string]string
	// Passkey says whether this address can make one.
	Passkey PasskeyPlace
	// MinPassword is the shortest password, in characters.
	MinPassword int
	// Exists lists what the first start made, each with its event.
	Exists []SetupFact
	// Events counts what the journal holds now; 0 prints nothing.
	Events int
	// Where lists data folder, database, address and what leaves the machine.
	Where []KV
	// Keyring is the path of the keyring; BackupCommand the command to copy.
	Keyring       string
	BackupCommand string
	// Version and Instance stand in the foot.
	Version, Instance string
}

// SetupFact is one line of "what exists now".
type SetupFact struct {
	Icon string
	Name string
	Fact Fact
	// Proven draws the proven glyph before the text.
	Proven bool
}

// PasskeyPlace says whether a passkey can be made or used at the address of this page.
type PasskeyPlace struct {
	// OK is true on https and on localhost.
	OK bool
	// Host is the name that the passkey belongs to.
	Host string
	// Why is printed when not OK: "This address is an IP number; a passkey needs a name."
	Why string
	// Better is the address that could: "http://localhost:7420".
	Better string
}

func (v SetupView) fault(field string) string { return v.Errors[field] }
