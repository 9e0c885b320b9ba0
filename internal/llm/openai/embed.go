package openai

import (
	"context"
	"encoding/json"
	"io"

	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/llm"
)

// maxTexts is how many texts OpenAI takes in one call.
const maxTexts = 2048

type embedRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
}

type embedReply struct {
	Model string `json:"model"`
	Data  []struct {
		Index     *int      `json:"index"`
		Embedding []float64 `json:"embedding"`
	} `json:"data"`
	Usage *usage `json:"usage"`
}

// Embed implements llm.Embedder.
func (m *Model) Embed(ctx context.Context, r llm.EmbedRequest) (llm.EmbedResponse, error) {
	var out llm.EmbedResponse
	if r.Model == "" {
		return out, fault.New(fault.Invalid, "no model is named").On("model")
	}
	if len(r.Texts) == 0 || len(r.Texts) > maxTexts {
		return out, fault.New(fault.Invalid, "want 1 to %d texts", maxTexts).On("texts")
	}
	err := m.wire.Fetch(ctx,
		func() (llm.WireCall, error) {
			return m.call("/embeddings", "application/json", embedRequest{Model: r.Model, Input: r.Texts, EncodingFormat: "float"})
		},
		func(b *llm.Body, data []byte) (err error) {
			out, err = vectors(b, r, data)
			return err
		})
	return out, err
}

// vectors checks a reply: one vector per text, in the places that it names, all
// of one dimension.
func vectors(b *llm.Body, r llm.EmbedRequest, data []byte) (llm.EmbedResponse, error) {
	var v embedReply
	if err := json.Unmarshal(data, &v); err != nil {
		return llm.EmbedResponse{}, b.Failure(llm.Malformed, "the reply is not the documented JSON: %v", err)
	}
	if len(v.Data) != len(r.Texts) {
		return llm.EmbedResponse{}, b.Failure(llm.Malformed, "%d vectors for %d texts", len(v.Data), len(r.Texts))
	}
	out := llm.EmbedResponse{Model: v.Model, Vectors: make([]llm.Vector, len(r.Texts))}
	if out.Model == "" {
		out.Model = r.Model
	}
	dim := len(v.Data[0].Embedding)
	for i, d := range v.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= len(out.Vectors) || out.Vectors[at] != nil {
			return llm.EmbedResponse{}, b.Failure(llm.Malformed, "vector %d says it is number %d", i, at)
		}
		if len(d.Embedding) != dim {
			return llm.EmbedResponse{}, b.Failure(llm.Malformed, "vectors of %d and %d dimensions", dim, len(d.Embedding))
		}
		vec, err := llm.NewVector(d.Embedding)
		if err != nil {
			return llm.EmbedResponse{}, b.Failure(llm.Malformed, "vector %d: %v", i, err)
		}
		out.Vectors[at] = vec
	}
	if u := v.Usage; u != nil {
		if got := (llm.Usage{Input: u.Prompt, Reported: true}); got.Plausible() {
			out.Usage = got
		}
	}
	return out, nil
}

// readAll returns the rest of a reply.
func readAll(b *llm.Body) ([]byte, error) { return io.ReadAll(b) }
