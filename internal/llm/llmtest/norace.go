//go:build !race

package llmtest

const raceStride = 1
