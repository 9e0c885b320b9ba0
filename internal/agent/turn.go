package agent

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// TurnRole says what a turn of a thread is.
type TurnRole string

// The roles of a turn.
const (
	TurnUser      TurnRole = "user"      // what somebody asked
	TurnAssistant TurnRole = "assistant" // what an agent said, as it left
	TurnSummary   TurnRole = "summary"   // stands for older turns; data like any other
	TurnNote      TurnRole = "note"      // a fact about the thread: a run was cancelled
)

// Turn is one entry of a thread's history.
type Turn struct {
	ID        id.ID
	Thread    id.ID
	Seq       int // of arrival, from 1
	Ord       int // of the run it belongs to; turns are read in (Ord, Seq) order
	Role      TurnRole
	Author    string // principal
	Text      string // "" once its subject was erased
	Label     event.Label
	EventID   id.ID // the event it was made from
	MessageID id.ID // of the message, if it is one
	RunID     id.ID
	Channel   string
	Sender    string // address on the channel
	Files     string // names, types and digests of attachments, one a line
	Covers    int    // summary: turns it stands for
	At        time.Time
	Subject   id.ID // whose data it is
}

// ref names the turn's event as a cause, with the turn's own label.
func (t Turn) ref() event.Ref { return event.Ref{ID: t.EventID, Label: t.Label} }

// Thread is one conversation: its turns, and the one run that goes in it.
type Thread struct {
	ID      id.ID
	Active  id.ID // the run that goes; Nil for none
	Turns   int   // how many there are; the next Seq is one more
	Runs    int   // how many there were; the next Ord is one more
	Summary id.ID // the turn that stands for all with Ord <= Folded
	Folded  int
	Changed time.Time
}

// tokensOf estimates the tokens of a text, never low by much: a quarter of its
// ASCII bytes and one for every other rune. It is arithmetic on the text alone,
// so that the same thread has the same window everywhere.
func tokensOf(text string) int {
	ascii, other := 0, 0
	for i := range len(text) {
		switch b := text[i]; {
		case b < 0x80:
			ascii++
		case b >= 0xc0: // first byte of a rune
			other++
		}
	}
	return (ascii+3)/4 + other
}

// turnOverhead is what a block's lines and a message's frame cost, in tokens.
const turnOverhead = 48

func (t Turn) tokens() int { return tokensOf(t.Text) + tokensOf(t.Files) + turnOverhead }
