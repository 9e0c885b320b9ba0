package app

import (
	"runtime"
	"runtime/debug"
	_ "time/tzdata" // a schedule must not depend on the host's files
	"unicode"
)

// Version is the release; "devel" for a build from a checkout.
func Version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "devel"
}

// Code names everything of this build that a replay depends on: module, Go,
// Unicode and architecture level (INV-13). Another Code makes a replay approximate.
func Code() string {
	return "witan " + Version() + " " + runtime.Version() + " unicode " + unicode.Version + " " + runtime.GOARCH
}
