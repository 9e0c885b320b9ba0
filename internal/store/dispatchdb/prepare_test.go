package dispatchdb_test

import (
	"testing"

	"github.com/witan-run/witan/internal/dispatch"
	"github.com/witan-run/witan/internal/store/dispatchdb"
	"github.com/witan-run/witan/internal/store/storetest"
)

var _ dispatch.Store = dispatchdb.New()

func TestEveryQueryPrepares(t *testing.T) {
	t.Parallel()
	storetest.Queries(t, dispatchdb.Named())
}
