package ui

// Parked is a reaction that failed twice on a stream: later events of that stream
// wait behind it until a person lets it go on, or gives the event up.
type Parked struct {
	ID         string
	Key        string
	Subscriber string
	// Kind and Error are the failure as it was recorded.
	Kind, Error string
	Tries       string
	// Fact names the event at which it failed.
	Fact Fact
	// CanDecide is false for viewers.
	CanDecide bool
	// Journal and Next are doors.
	Journal, Next string
}
