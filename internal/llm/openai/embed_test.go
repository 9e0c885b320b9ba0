package openai_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/llm"
	"github.com/witan-run/witan/internal/llm/llmtest"
	"github.com/witan-run/witan/internal/llm/openai"
)

func embed(t *testing.T, body string) (llm.EmbedResponse, error) {
	t.Helper()
	tp := &llmtest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b struct {
			Model          string   `json:"model"`
			Input          []string `json:"input"`
			EncodingFormat string   `json:"encoding_format"`
		}
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		err := d.Decode(&b)
		if err != nil || r.URL.Path != "/v1/embeddings" || b.Model != "small" || len(b.Input) != 2 || b.EncodingFormat != "float" || r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("fake refuses %s %+v %v", r.URL.Path, b, err)
		}
		_, _ = w.Write([]byte(body))
	})}
	m := newModel(t, openai.Config{Key: secret.New(testKey), Client: tp.Client(), Wire: llm.WireConfig{Limits: llm.Limits{Attempts: 1}}})
	return m.Embed(t.Context(), llm.EmbedRequest{Model: "small", Texts: []string{"one", "two"}})
}

func TestEmbedPutsVectorsInTheirPlaces(t *testing.T) {
	t.Parallel()
	r, err := embed(t, `{"object":"list","model":"small-2","x":1,"data":[
		{"object":"embedding","index":1,"embedding":[0,-2.5,0]},
		{"object":"embedding","index":0,"embedding":[3e-3,4E-3,0]}],"usage":{"prompt_tokens":4,"total_tokens":4}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.EmbedResponse{Model: "small-2", Vectors: []llm.Vector{{600000, 800000, 0}, {0, -1000000, 0}}, Usage: llm.Usage{Input: 4, Reported: true}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if c := r.Vectors[0].Cosine(r.Vectors[1]); c != -800000 {
		t.Errorf("cosine %d", c)
	}
}

func TestEmbedRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"one for two":    `{"data":[{"index":0,"embedding":[1]}]}`,
		"same place":     `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		"place outside":  `{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`,
		"two dimensions": `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`,
		"no direction":   `{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[1,2]}]}`,
		"empty":          `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`,
		"not JSON":       `{"data":[`,
	} {
		if _, err := embed(t, body); llm.ReasonOf(err) != llm.Malformed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
