package dispatch

import "github.com/witan-run/witan/internal/kit/fault"

// Rate is a token bucket: Burst messages at once, then PerMinute.
type Rate struct {
	Burst     int64
	PerMinute int64
}

const (
	// unitsPerToken makes the refill exact in integers: PerMinute units a microsecond.
	unitsPerToken = 60_000_000
	maxRate       = 1_000_000
)

func (r Rate) check(field string) error {
	if r.Burst < 1 || r.Burst > maxRate || r.PerMinute < 1 || r.PerMinute > maxRate {
		return fault.New(fault.Invalid, "burst and per_minute lie between 1 and %d", maxRate).On(field)
	}
	return nil
}

func (r Rate) capacity() int64 { return r.Burst * unitsPerToken }

// Bucket is the state of one rate limit, as stored.
type Bucket struct {
	Level int64 // units left
	At    int64 // when Level was true, microseconds of the database's clock
}

// Full returns the bucket of somebody who was never seen.
func (r Rate) Full(now int64) Bucket { return Bucket{Level: r.capacity(), At: now} }

// Take takes one token at a moment in microseconds and reports whether there
// was one. A clock that went back refills nothing and forgets nothing.
func (b Bucket) Take(now int64, r Rate) (Bucket, bool) {
	elapsed := min(max(now-b.At, 0), r.capacity()/r.PerMinute+1)
	b = Bucket{Level: min(b.Level+elapsed*r.PerMinute, r.capacity()), At: now}
	if b.Level < unitsPerToken {
		return b, false
	}
	b.Level -= unitsPerToken
	return b, true
}

// FullAt returns when the bucket will be full again, in microseconds: from then
// on it tells nothing and its row may go.
func (b Bucket) FullAt(r Rate) int64 {
	missing := max(r.capacity()-b.Level, 0)
	return b.At + (missing+r.PerMinute-1)/r.PerMinute
}
