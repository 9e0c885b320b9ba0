package workdb

// Q lets the tests prepare every query.
var Q = q //nolint:gochecknoglobals // for tests
