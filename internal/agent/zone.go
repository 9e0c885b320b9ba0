package agent

import (
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// loadZone returns a time zone by its IANA name; "" is UTC. The name is recorded
// and the zone's rules are part of the recorded code version.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%q is no time zone", name).On("zone")
	}
	return z, nil
}
