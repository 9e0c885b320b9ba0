package app

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// zone is the time zone in which people's times are shown and read: the
// configured one, else the system's.
func (c Config) zone() (*time.Location, error) {
	if c.TimeZone == "" {
		return systemZone("/"), nil
	}
	z, err := time.LoadLocation(c.TimeZone)
	if err != nil || c.TimeZone == "Local" {
		return nil, fault.New(fault.Invalid, "%q is no time zone", c.TimeZone).On("time_zone").WithFix("write a name like Europe/Vienna, or UTC")
	}
	return z, nil
}

// systemZone finds the system's zone by its name: a run records the name, and a
// replay on another machine must find the same zone by it. A zone without a
// name is UTC. root is the root of the file system.
func systemZone(root string) *time.Location {
	var names []string
	if tz, ok := os.LookupEnv("TZ"); ok {
		names = append(names, strings.TrimPrefix(tz, ":")) // an empty TZ is UTC
	} else {
		if b, err := os.ReadFile(filepath.Join(root, "etc/timezone")); err == nil {
			names = append(names, strings.TrimSpace(string(b)))
		}
		if to, err := os.Readlink(filepath.Join(root, "etc/localtime")); err == nil {
			names = append(names, to)
		}
	}
	for _, n := range names {
		if _, zone, ok := strings.Cut(n, "zoneinfo/"); ok {
			n = zone
		}
		if z, err := time.LoadLocation(n); err == nil && n != "Local" {
			return z
		}
	}
	return time.UTC
}
