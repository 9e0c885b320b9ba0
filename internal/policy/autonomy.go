package policy

// The autonomy dial runs from 0 to 100; 75 is where it stands at first.
const (
	maxAutonomy     = 100
	DefaultAutonomy = 75
)

// Band is what a stretch of the dial means in words (seed 000 "autonomy").
type Band string

// The five bands. Only the floors of Risk change what is asked; a band says
// what a person should expect, and what the work of an agent looks like.
const (
	BandFull       Band = "full"              // 90 and more
	BandSpotCheck  Band = "spot-check"        // 80 to 89
	BandApproval   Band = "approval-required" // 70 to 79
	BandDraft      Band = "draft-only"        // 60 to 69
	BandRestricted Band = "restricted"        // below 60
)

// BandOf returns the band of a dial position.
func BandOf(autonomy int) Band {
	switch {
	case autonomy >= 90:
		return BandFull
	case autonomy >= 80:
		return BandSpotCheck
	case autonomy >= 70:
		return BandApproval
	case autonomy >= 60:
		return BandDraft
	}
	return BandRestricted
}
