package dispatchdb

import "github.com/witan-run/witan/internal/store"

// Named gives the queries to the external tests.
func Named() *store.Queries { return q }
