package ui

// SignInView is the sign-in: passkey first, password under it. Before sign-in it shows
// no names, counts or health.
type SignInView struct {
	Head Head
	// Address is this page's own origin, printed so that a person can check it.
	Address string
	// Back is the path to come back to; BackName names it when the person's own link did.
	Back, BackName string
	// Why says that a session ended: "You were signed out after 12 hours."
	Why     string
	Passkey PasskeyPlace
	// SignInName fills the form again.
	SignInName string
	// Error is the refusal: "That pair is wrong. 4 tries are left." ; Wait while locked.
	Error string
	Wait  string
	// ResetCommand is what to run on the machine.
	ResetCommand string
}
