package policydb

// Queries is the named SQL of this package, for the test that prepares it.
var Queries = q
