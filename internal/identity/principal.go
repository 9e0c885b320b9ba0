package identity

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Via says how a principal came in.
type Via string

// The ways in.
const (
	ViaSession Via = "session" // a signed-in browser
	ViaToken   Via = "token"   // a personal API token
	ViaMachine Via = "machine" // access to the data folder: the local socket, an offline command
)

// Principal is who is acting. The zero Principal is nobody.
type Principal struct {
	Account    id.ID
	PersonID   id.ID // Nil only for the machine acting for nobody
	Name       string
	SignIn     string
	Role       Role // already narrowed, for a token
	Via        Via
	SessionID  id.ID     // for ViaSession
	TokenID    id.ID     // for ViaToken
	VerifiedAt time.Time // of the last proof, for ViaSession
}

// IsZero reports whether nobody is acting.
func (p Principal) IsZero() bool { return p.Via == "" }

// By returns the principal as events name it: "person:ID" or "machine".
func (p Principal) By() string {
	if p.PersonID.IsZero() {
		return string(ViaMachine)
	}
	return "person:" + p.PersonID.String()
}

// FreshAt reports whether the principal proved themselves within StepUpWindow.
// The machine always did: who has the data folder has everything. A proof from
// the future (the clock went back) is no proof.
func (p Principal) FreshAt(now time.Time) bool {
	switch p.Via {
	case ViaMachine:
		return true
	case ViaSession:
		age := now.Sub(p.VerifiedAt)
		return age >= -time.Minute && age <= StepUpWindow
	}
	return false
}

// Label returns the label of what the principal says: a signed-in person's
// word, or the house's for the machine acting for nobody.
func (p Principal) Label() event.Label {
	if p.PersonID.IsZero() {
		return event.NewLabel(event.House, event.AccountWide())
	}
	return event.NewLabel(event.Person, event.AccountWide())
}

// Machine returns the principal of an offline command: an owner's reach, in
// nobody's name.
func Machine(account id.ID) Principal {
	return Principal{Account: account, Role: Owner, Via: ViaMachine, Name: "the machine"}
}

// personBy is a person who acts before they have a session: by a link, or by
// the very sign-in.
func personBy(person id.ID) Principal { return Principal{PersonID: person, Via: ViaSession} }
