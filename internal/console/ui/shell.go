package ui

// Place is one of the console's places. The sidebar lists only those it is given.
type Place string

// The places of this release.
const (
	PlaceInbox   Place = "inbox"
	PlaceWork    Place = "work"
	PlaceChat    Place = "chat"
	PlaceJournal Place = "journal"
)

// Label is the place's name in the bar.
func (p Place) Label() string {
	switch p {
	case PlaceInbox:
		return "Inbox"
	case PlaceWork:
		return "Work"
	case PlaceChat:
		return "Chat"
	case PlaceJournal:
		return "Journal"
	}
	return string(p)
}

// Href is the place's address.
func (p Place) Href() string { return "/" + string(p) }

func (p Place) icon() string {
	switch p {
	case PlaceInbox:
		return "inbox"
	case PlaceWork:
		return "square-kanban"
	case PlaceChat:
		return "message-square"
	case PlaceJournal:
		return "scroll-text"
	}
	return "info"
}

// key is the letter after G that goes there.
func (p Place) key() string {
	switch p {
	case PlaceInbox:
		return "I"
	case PlaceWork:
		return "B"
	case PlaceChat:
		return "C"
	case PlaceJournal:
		return "J"
	}
	return ""
}

// PlaceLink is one line of the sidebar.
type PlaceLink struct {
	Place Place
	// Count is printed when above zero: what waits there.
	Count int
	// Need draws the count in amber: a person is needed. Only the Inbox sets it.
	Need bool
}

// LiveState is the state of the page's event stream, said in words.
type LiveState string

// The four states of DESIGN §2.
const (
	LiveOn           LiveState = "live"
	LiveCatchingUp   LiveState = "catching"
	LiveReconnecting LiveState = "reconnecting"
	LiveOffline      LiveState = "offline"
)

// Live says which event this page was made from and where to hear of later ones.
type Live struct {
	State LiveState
	// Position is "epoch-seq" of the last event in this page; the stream resumes after it.
	Position string
	// Seq is that event as printed, "48,187"; empty before the first event.
	Seq string
	// Behind counts events not yet shown while catching up.
	Behind int
	// At is when the stream was last alive, "10:44"; used while reconnecting or offline.
	At string
	// Stream is the address of the event stream, "/api/v1/stream"; empty turns live
	// update off.
	Stream string
}

func (l Live) words() string {
	switch l.State {
	case LiveCatchingUp:
		return "Catching up"
	case LiveReconnecting:
		return "Reconnecting"
	case LiveOffline:
		if l.At == "" {
			return "Offline"
		}
		return "Offline since " + l.At
	case LiveOn:
		return "Live"
	}
	return "Live"
}

func (l Live) detail() string {
	switch {
	case l.State == LiveCatchingUp && l.Behind > 0:
		return count(l.Behind) + " " + plural(l.Behind, "event", "events")
	case l.State == LiveReconnecting && l.Seq != "":
		if l.At == "" {
			return "last #" + l.Seq
		}
		return "last #" + l.Seq + " at " + l.At
	case l.State == LiveOffline || l.Seq == "":
		return ""
	}
	return "#" + l.Seq
}

// FootFact is one line of the sidebar's foot; at most four are drawn.
type FootFact struct {
	// Icon is a name of icons.go: laptop, link-2, flask-conical, sparkles, database, power-off.
	Icon string
	// Fact is printed only when Ref is known, or when Config is set.
	Fact Fact
	// Config marks a line that states the configuration (no model, demo folder) and not
	// an event, so that it needs no Ref.
	Config bool
}

func (f FootFact) shown() bool { return f.Fact.Text != "" && (f.Config || f.Fact.Ref.Known()) }

// Halt is the state of the stop and what this person may do about it.
type Halt struct {
	// On is true while a stop row holds this account.
	On bool
	// CanHalt is true for anyone signed in; CanResume for owners and operators.
	CanHalt, CanResume bool
	// Running counts calls that Halt would stop or leave in doubt.
	Running int
	// Waiting lists what Resume lets go, one sentence each.
	Waiting []string
}

// Crumb is one step of the path in the top bar; the last one has no Href.
type Crumb struct {
	Text string
	Href string
}

// Me is the person signed in.
type Me struct {
	Name string
	// Role is owner, operator or viewer, printed as given; may be empty.
	Role string
}

// Head is what every document needs before its body.
type Head struct {
	// Title is the page's name; " · Witan" is added.
	Title string
	// Theme is "light", "dark" or "" for the system's own.
	Theme string
	// CSS and JS are the addresses of the embedded bundle (assets.Bundle.URL).
	CSS, JS string
	// Icon is the address of the favicon.
	Icon string
}

// Shell surrounds each place.
type Shell struct {
	Head   Head
	Here   Place
	Places []PlaceLink
	Crumbs []Crumb
	Live   Live
	Foot   []FootFact
	Me     Me
	Halt   Halt
	// Banner is the one banner of this page; nil for none. See ChooseBanner.
	Banner *Banner
	// Path is this page's path and query; forms that change something elsewhere come back to it.
	Path string
	// Query fills the search field again.
	Query string
}

func (s Shell) foot() []FootFact {
	out := make([]FootFact, 0, 4)
	for _, f := range s.Foot {
		if f.shown() && len(out) < 4 {
			out = append(out, f)
		}
	}
	return out
}

// offline reports whether a decision may not be offered: the world shown may be old.
func (s Shell) offline() bool {
	return s.Live.State == LiveOffline || s.Live.State == LiveReconnecting
}
