//go:build race

package llmtest

// raceStride thins the cuts under the race detector, which finds nothing in the
// tenth thousand of equal plays; the plain run cuts at every byte.
const raceStride = 13
