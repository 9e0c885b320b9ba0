package builtin

import (
	"context"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/skill"
)

// timeNow tells the recorded time of the attempt, so that a replay reads the same.
type timeNow struct{}

// Act implements skill.Executable.
func (timeNow) Act(_ context.Context, c skill.Call) (skill.Output, error) {
	var a struct {
		Zone string `json:"zone"`
	}
	if err := c.Bind(&a); err != nil {
		return skill.Output{}, err
	}
	zone, err := time.LoadLocation(a.Zone) // "" is UTC
	if err != nil || a.Zone == "Local" {
		return skill.Output{}, fault.New(fault.Invalid, "%q is no time zone of the IANA list", a.Zone).On("zone")
	}
	now := c.Now.Truncate(time.Second)
	local := now.In(zone)
	return skill.Output{Value: map[string]any{
		"utc": now.UTC().Format(time.RFC3339), "local": local.Format(time.RFC3339), "zone": zone.String(),
		"weekday": local.Weekday().String(),
	}}, nil
}
