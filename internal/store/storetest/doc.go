// Package storetest opens real engines for tests: SQLite in a temporary folder
// and a PostgreSQL server that the test process starts itself.
//
// A machine without PostgreSQL fails the test when CI=true and skips it
// otherwise. It may be imported by tests only; the server it starts dies with
// the test process.
package storetest
