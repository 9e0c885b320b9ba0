package policydb

import (
	"testing"

	"github.com/witan-run/witan/internal/store/storetest"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	storetest.Queries(t, q)
}
