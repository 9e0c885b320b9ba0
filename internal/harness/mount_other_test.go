//go:build !linux

package harness_test

import "testing"

// mountSmall has no counterpart on this system.
func mountSmall(*testing.T, string, int) bool { return false }
