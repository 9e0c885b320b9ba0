package llm

import (
	"math"

	"github.com/witan-run/witan/internal/kit/fault"
)

// EmbedRequest asks for the vectors of texts.
type EmbedRequest struct {
	Model string   `json:"model"`
	Texts []string `json:"texts"`
}

// EmbedResponse holds one vector per text.
type EmbedResponse struct {
	Model   string   `json:"model"` // vectors of two models are never compared
	Vectors []Vector `json:"vectors"`
	Usage   Usage    `json:"usage"`
}

// Vector is a direction: components in millionths, length 1,000,000 but for
// rounding. Integers, so that a recorded vector replays to the same bytes.
type Vector []int32

// vectorUnit is the length of a Vector.
const vectorUnit = 1_000_000

// NewVector scales v to length 1 and rounds it. It refuses a vector without
// a direction: empty, zero, or holding NaN or an infinity.
func NewVector(v []float64) (Vector, error) {
	var top float64
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fault.New(fault.Unavailable, "a vector holds %v", x)
		}
		top = max(top, math.Abs(x))
	}
	if top == 0 {
		return nil, fault.New(fault.Unavailable, "a vector of %d components has no direction", len(v))
	}
	// Scaled by the largest component first, so that squares neither overflow nor vanish.
	var sum float64
	for _, x := range v {
		y := x / top
		sum += float64(y * y)
	}
	length := math.Sqrt(sum)
	out := make(Vector, len(v))
	for i, x := range v {
		out[i] = int32(math.Round(float64(x/top) / length * vectorUnit))
	}
	return out, nil
}

// Cosine returns the cosine of two vectors of one model in millionths; it is
// exact integer arithmetic. Vectors of unlike dimension have cosine 0.
func (v Vector) Cosine(w Vector) int64 {
	if len(v) != len(w) {
		return 0
	}
	var sum int64
	for i := range v {
		sum += int64(v[i]) * int64(w[i])
	}
	return sum / vectorUnit
}
