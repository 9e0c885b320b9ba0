package ui

// BannerKind is one of the fixed looks; a page may not invent another.
type BannerKind string

// The banners. Grey states a fact, red says that something stopped or failed, amber
// says that a person must act.
const (
	BannerDemo         BannerKind = "demo"
	BannerDegraded     BannerKind = "degraded"
	BannerReconnecting BannerKind = "reconnecting"
	BannerOffline      BannerKind = "offline"
	BannerError        BannerKind = "error"
	BannerHalted       BannerKind = "halted"
	BannerDisk         BannerKind = "disk"
	BannerRestored     BannerKind = "restored"
	BannerHeld         BannerKind = "held"
	BannerStale        BannerKind = "stale"
	BannerDone         BannerKind = "done"
)

// Banner is one line under the top bar.
type Banner struct {
	Kind BannerKind
	// Text follows the fixed words of the kind. Where it states what happened it needs
	// Ref; demo, degraded, reconnecting and offline describe the page itself and do not.
	Text string
	// Ref is the event that stopped, restored, held or refused.
	Ref Ref
	// Door is one thing to do; the zero Link draws none.
	Door Link
	// Note is small text at the right end.
	Note string
}

// words are the fixed opening of each banner. They name a state, not an event.
func (b Banner) words() string {
	switch b.Kind {
	case BannerDemo:
		return "Demo."
	case BannerDegraded:
		return "Some results may be missing."
	case BannerReconnecting:
		return "Reconnecting."
	case BannerOffline:
		return "Offline. You see an earlier state."
	case BannerError:
		return "Not done."
	case BannerHalted:
		return "All stopped. Nothing leaves Witan."
	case BannerDisk:
		return "Intake stopped. The disk is nearly full."
	case BannerRestored:
		return "Restored."
	case BannerHeld:
		return "Work waits for a person."
	case BannerStale:
		return "Not answered. The call is another one now."
	case BannerDone:
		return "Done."
	}
	return ""
}

func (b Banner) text() string {
	switch b.Kind {
	case BannerDemo, BannerDegraded, BannerReconnecting, BannerOffline:
		return b.Text
	case BannerError, BannerHalted, BannerDisk, BannerRestored, BannerHeld, BannerStale, BannerDone:
		if b.Ref.Known() {
			return b.Text
		}
	}
	return ""
}

func (b Banner) tone() string {
	switch b.Kind {
	case BannerHalted, BannerError:
		return "c-deny"
	case BannerDisk, BannerRestored, BannerHeld, BannerStale:
		return "c-need"
	case BannerDemo, BannerDegraded, BannerReconnecting, BannerOffline, BannerDone:
		return ""
	}
	return ""
}

func (b Banner) icon() string {
	switch b.Kind {
	case BannerDemo:
		return "flask-conical"
	case BannerDegraded:
		return "info"
	case BannerReconnecting:
		return "rotate-ccw"
	case BannerOffline:
		return "wifi-off"
	case BannerError:
		return "triangle-alert"
	case BannerHalted:
		return "octagon-pause"
	case BannerDone:
		return "check"
	case BannerDisk, BannerRestored, BannerHeld, BannerStale:
		return ""
	}
	return "info"
}

// rank orders banners: amber before red before grey.
func (b Banner) rank() int {
	switch b.tone() {
	case "c-need":
		return 0
	case "c-deny":
		return 1
	}
	return 2
}

// ChooseBanner picks the one banner of a page: amber before red before grey, the first
// of equals. It returns nil for none. What is not chosen belongs in the foot.
func ChooseBanner(all ...Banner) *Banner {
	best := -1
	for i, b := range all {
		if best < 0 || b.rank() < all[best].rank() {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &all[best]
}

// ErrorView is a page that says what failed, what did not happen and what to do. It
// stands inside the shell when Shell.Me is set and alone otherwise.
type ErrorView struct {
	Shell Shell
	// Status is the HTTP status, for the title only.
	Status int
	// What failed, in words of the fault kind; never internal text.
	What string
	// DidNot says what did not happen: "Nothing was sent, AP-315 still waits."
	DidNot string
	// Fix says what to do; from fault's fix.
	Fix string
	// Trace is the request's trace id, for the operator; may be empty.
	Trace string
	// Ref is the event that refused; may be empty.
	Ref Ref
	// Back is where to go on.
	Back Link
}

// SearchView is the palette as a page: a form and its answers.
type SearchView struct {
	Shell  Shell
	Groups []SearchGroup
}

// SearchGroup holds hits of one sort in the order of the ranking.
type SearchGroup struct {
	Name string
	Hits []SearchHit
}

// SearchHit is one row of the palette.
type SearchHit struct {
	Icon string
	Link Link
	// Note is grey text: where it is, or why a command cannot run now.
	Note string
	// Key is the key that does the same, printed so that people outgrow the palette.
	Key string
	// Off lists a command that cannot run; Note says why.
	Off bool
}
