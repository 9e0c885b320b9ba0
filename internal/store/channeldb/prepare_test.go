package channeldb_test

import (
	"testing"

	"github.com/witan-run/witan/internal/store/channeldb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestEveryQueryPrepares(t *testing.T) {
	t.Parallel()
	storetest.Queries(t, channeldb.Named())
}
