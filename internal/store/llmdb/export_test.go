package llmdb

// Queries is the named SQL, for the test that prepares it.
var Queries = q
