package policydb_test

import (
	"testing"

	"github.com/witan-run/witan/internal/store/policydb"
	"github.com/witan-run/witan/internal/store/storetest"
)

func TestQueriesPrepareOnBothEngines(t *testing.T) {
	t.Parallel()
	storetest.Queries(t, policydb.Queries)
}
