package skill

import (
	"encoding/hex"
	"strconv"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/id"
)

// Key returns the idempotency key of a call: 64 hexadecimal digits over run,
// step and call id. It does not depend on the attempt, the node or the time, so
// every attempt at an effect carries the same one (architecture §5).
func Key(run id.ID, step int, call string) string {
	d := canon.Digest("witan/effect/1", run[:], []byte(strconv.Itoa(step)), []byte(call))
	return hex.EncodeToString(d[:])
}
