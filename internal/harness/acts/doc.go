// Package acts holds four skills, one of each effect class, whose effects happen
// in the fake world: the load of the torture and of the figures. They are
// compiled into test binaries only.
//
// Each skill posts its idempotency key and its argument to the world, so that the
// world counts what really happened: once by key, and once by name, for a run
// that was done twice would carry two keys.
//
// It imports kit, event, skill and skill/manifest, and starts no goroutine.
package acts
