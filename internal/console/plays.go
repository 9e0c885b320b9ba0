package console

import (
	"time"

	"github.com/witan-run/witan/internal/agent"
	"github.com/witan-run/witan/internal/kit/id"
)

// played is a replay that was run here.
type played struct {
	report agent.Report
	took   time.Duration
}

// plays remembers the last replays by run. A replay changes nothing and can be had
// again, so it is kept in memory.
type plays struct{ *memo[id.ID, played] }

func newPlays() *plays { return &plays{newMemo[id.ID, played](256)} }
