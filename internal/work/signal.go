package work

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Limits of signals, in bytes but for the counts.
const (
	maxGuidelines = 16 << 10
	maxFAQ        = 32       // questions of a signal or of a publish
	maxFAQBytes   = 32 << 10 // of all of them together
	maxSignals    = 1000     // of an account
)

// Signal is a named event of the account: what is published under its name makes
// a task for each of its triggers. On the wire it is an event.
type Signal struct {
	ID                id.ID
	Name              string // unique in its account; fixed
	Description       string
	PayloadGuidelines string // what a payload should say, for who publishes
	FAQ               []event.QA
	ArchivedAt        time.Time
	CreatedBy         string
	Trust             int32 // of everybody who wrote its words, the least; micro-units
	Label             event.Label
	CreatedAt         time.Time
	UpdatedAt         time.Time
	Revision          int64
	Revisions         Revisions
}

// Archived reports whether the signal is published no more.
func (g Signal) Archived() bool { return !g.ArchivedAt.IsZero() }

func noSignal() error { return fault.New(fault.NotFound, "there is no such signal").On("signal") }

func errSignalArchived() error {
	return fault.New(fault.Conflict, "the signal is archived").On("signal").WithFix("unarchive it first")
}

var signalName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,128}$`)

// CheckSignalName refuses what is no name of a signal.
func CheckSignalName(name string) error {
	if signalName.MatchString(name) {
		return nil
	}
	return fault.New(fault.Invalid, "%q is no name of a signal", clip(name)).On("name").
		WithFix("a small letter, then at most 128 small letters, digits and underscores")
}

// NewSignal is a signal to be.
type NewSignal struct {
	Name              string
	Description       string
	PayloadGuidelines string
	FAQ               []event.QA
}

func (n NewSignal) check() error {
	if err := CheckSignalName(n.Name); err != nil {
		return err
	}
	return checkSignal(n.Description, n.PayloadGuidelines, n.FAQ)
}

func checkSignal(description, guidelines string, faq []event.QA) error {
	if err := checkText("description", description, maxDescription, false); err != nil {
		return err
	}
	if err := checkText("payloadGuidelines", guidelines, maxGuidelines, false); err != nil {
		return err
	}
	return checkFAQ(faq)
}

func checkFAQ(faq []event.QA) error {
	if len(faq) > maxFAQ {
		return fault.New(fault.Limited, "%d questions, at most %d are taken", len(faq), maxFAQ).On("faq")
	}
	left := maxFAQBytes
	for i, qa := range faq {
		at := "faq[" + strconv.Itoa(i) + "]."
		if err := checkText(at+"q", qa.Q, left, true); err != nil {
			return err
		}
		left -= len(qa.Q)
		if err := checkText(at+"a", qa.A, left, true); err != nil {
			return err
		}
		left -= len(qa.A)
	}
	return nil
}

// SignalChange is what is to change of a signal; nil leaves a field alone.
type SignalChange struct {
	Seen              int64 // the revision that was shown; 0 writes over whatever stands there
	Description       *string
	PayloadGuidelines *string
	FAQ               *[]event.QA
}

// apply returns the signal with the change, and what it changes.
func (g Signal) apply(c SignalChange) (Signal, *edit) {
	e := begin(c.Seen, g.Revision, g.Revisions)
	set(e, "description", &g.Description, c.Description)
	set(e, "payloadGuidelines", &g.PayloadGuidelines, c.PayloadGuidelines)
	if c.FAQ != nil && e.err == nil && !slices.Equal(*c.FAQ, g.FAQ) && !e.stale("faq") {
		g.FAQ = *c.FAQ
		e.note("faq", value(g.FAQ))
	}
	if e.err == nil {
		e.err = checkSignal(g.Description, g.PayloadGuidelines, g.FAQ)
	}
	return g, e
}
