package bedrock_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/llm/llmtest"
)

const (
	testID     = "AKIATESTTESTTEST"
	testSecret = "wJalrTESTsecret/0123456789abcdefghijklmn"
	testToken  = "FwoGZXIvYXdzTESTtoken=="
	testRegion = "eu-central-1"
)

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// fake is a strict Bedrock runtime: it checks the signature of what arrived by a
// calculation of its own, and refuses what the public reference does not allow.
type fake struct {
	t     *testing.T
	whole bool // serves Converse in place of ConverseStream
	extra bool // adds fields, padding and frames that nobody knows
}

var authForm = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/bedrock/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$`)

// signed checks the Authorization header against the request as it arrived.
func signed(r *http.Request, body []byte) error {
	m := authForm.FindStringSubmatch(r.Header.Get("Authorization"))
	date := r.Header.Get("X-Amz-Date")
	if m == nil || m[1] != testID || m[3] != testRegion || !strings.HasPrefix(date, m[2]+"T") {
		return fmt.Errorf("authorization %q, date %q", r.Header.Get("Authorization"), date)
	}
	if date != testTime.Format("20060102T150405Z") {
		return fmt.Errorf("the date %s is not now", date)
	}
	names := strings.Split(m[4], ";")
	for _, must := range []string{"host", "x-amz-date", "x-amz-security-token"} {
		if !slices.Contains(names, must) {
			return fmt.Errorf("%s is not signed", must)
		}
	}
	canon := r.Method + "\n" + strings.ReplaceAll(url.PathEscape(r.URL.EscapedPath()), "%2F", "/") + "\n" + r.URL.RawQuery + "\n"
	for _, n := range names {
		v := r.Header.Get(n)
		if n == "host" {
			v = r.Host
		}
		canon += n + ":" + v + "\n"
	}
	sum := sha256.Sum256(body)
	canon += "\n" + m[4] + "\n" + hex.EncodeToString(sum[:])
	hash := func(key []byte, s string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(s))
		return h.Sum(nil)
	}
	canonSum := sha256.Sum256([]byte(canon))
	key := hash(hash(hash(hash([]byte("AWS4"+testSecret), m[2]), m[3]), "bedrock"), "aws4_request")
	want := hex.EncodeToString(hash(key, "AWS4-HMAC-SHA256\n"+date+"\n"+m[2]+"/"+m[3]+"/bedrock/aws4_request\n"+hex.EncodeToString(canonSum[:])))
	if want != m[5] {
		return fmt.Errorf("the signature does not match; canonical request:\n%s", canon)
	}
	return nil
}

type fakeBlock struct {
	Text    string `json:"text"`
	ToolUse *struct {
		ToolUseID string          `json:"toolUseId"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	} `json:"toolUse"`
	ToolResult *struct {
		ToolUseID string `json:"toolUseId"`
		Content   []struct {
			Text string `json:"text"`
		} `json:"content"`
		Status string `json:"status"`
	} `json:"toolResult"`
}

type fakeBody struct {
	Messages []struct {
		Role    string      `json:"role"`
		Content []fakeBlock `json:"content"`
	} `json:"messages"`
	System []struct {
		Text string `json:"text"`
	} `json:"system"`
	InferenceConfig struct {
		MaxTokens   int64       `json:"maxTokens"`
		Temperature json.Number `json:"temperature"`
	} `json:"inferenceConfig"`
	ToolConfig *struct {
		Tools []struct {
			ToolSpec struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				InputSchema struct {
					JSON json.RawMessage `json:"json"`
				} `json:"inputSchema"`
			} `json:"toolSpec"`
		} `json:"tools"`
		ToolChoice map[string]json.RawMessage `json:"toolChoice"`
	} `json:"toolConfig"`
	OutputConfig *struct {
		TextFormat struct {
			Type      string `json:"type"`
			Structure struct {
				JSONSchema struct {
					Name   string `json:"name"`
					Schema string `json:"schema"`
				} `json:"jsonSchema"`
			} `json:"structure"`
		} `json:"textFormat"`
	} `json:"outputConfig"`
}

func (f fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, kind, format string, args ...any) {
		f.t.Errorf("fake refuses: "+format, args...)
		w.Header().Set("X-Amzn-Errortype", kind+":http://internal.amazon.com/coral/com.amazon.bedrock/")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"message":%q}`, fmt.Sprintf(format, args...))
	}
	verb := "converse-stream"
	if f.whole {
		verb = "converse"
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(500, "InternalServerException", "%v", err)
		return
	}
	if err := signed(r, body); err != nil {
		refuse(403, "InvalidSignatureException", "%v", err)
		return
	}
	if r.Method != http.MethodPost || r.URL.EscapedPath() != "/model/"+llmtest.ModelName+"/"+verb || r.Header.Get("Content-Type") != "application/json" {
		refuse(404, "UnknownOperationException", "%s %s %s", r.Method, r.URL.EscapedPath(), r.Header.Get("Content-Type"))
		return
	}
	var b fakeBody
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		refuse(400, "ValidationException", "body: %v", err)
		return
	}
	for i, m := range b.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			refuse(400, "ValidationException", "message %d: role %s", i, m.Role)
			return
		}
	}
	switch {
	case len(b.System) != 1 || b.System[0].Text != llmtest.System || b.InferenceConfig.MaxTokens != llmtest.MaxTokens || b.InferenceConfig.Temperature != "0.2":
		refuse(400, "ValidationException", "parameters %+v %+v", b.System, b.InferenceConfig)
		return
	case b.ToolConfig == nil || len(b.ToolConfig.Tools) != 1 || b.ToolConfig.Tools[0].ToolSpec.Name != llmtest.WireName ||
		string(b.ToolConfig.Tools[0].ToolSpec.InputSchema.JSON) != llmtest.Schema || b.ToolConfig.ToolChoice != nil:
		refuse(400, "ValidationException", "tools %+v", b.ToolConfig)
		return
	case b.Messages[0].Content[0].Text != llmtest.Ask:
		refuse(400, "ValidationException", "the first message is not the user's")
		return
	}
	contentType := "application/vnd.amazon.eventstream"
	if f.whole {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	switch len(b.Messages) {
	case 1:
		_, _ = w.Write(f.callReply())
	case 3:
		a, u := b.Messages[1].Content, b.Messages[2].Content
		ok := len(a) == 2 && a[0].Text == llmtest.Before && a[1].ToolUse != nil && a[1].ToolUse.ToolUseID == "tooluse_Ab-1_c" &&
			a[1].ToolUse.Name == llmtest.WireName && string(a[1].ToolUse.Input) == llmtest.Args &&
			len(u) == 1 && u[0].ToolResult != nil && u[0].ToolResult.ToolUseID == "tooluse_Ab-1_c" &&
			len(u[0].ToolResult.Content) == 1 && u[0].ToolResult.Content[0].Text == llmtest.Result && u[0].ToolResult.Status == ""
		if !ok {
			refuse(400, "ValidationException", "history %+v", b.Messages[1:])
			return
		}
		_, _ = w.Write(f.finalReply())
	default:
		refuse(400, "ValidationException", "%d messages", len(b.Messages))
	}
}

type obj = map[string]any

// frame encodes one event as AWS documents the encoding.
func frame(headers [][2]string, payload []byte) []byte {
	var h bytes.Buffer
	for _, kv := range headers {
		h.WriteByte(byte(len(kv[0])))
		h.WriteString(kv[0])
		h.WriteByte(7)
		h.Write(binary.BigEndian.AppendUint16(nil, uint16(len(kv[1]))))
		h.WriteString(kv[1])
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(16+h.Len()+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(h.Len()))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, h.Bytes()...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func event(kind string, v obj) []byte {
	raw, _ := json.Marshal(v)
	return frame([][2]string{{":event-type", kind}, {":content-type", "application/json"}, {":message-type", "event"}}, raw)
}

func exception(kind, message string) []byte {
	raw, _ := json.Marshal(obj{"message": message})
	return frame([][2]string{{":exception-type", kind}, {":content-type", "application/json"}, {":message-type", "exception"}}, raw)
}

func (f fake) event(b *bytes.Buffer, kind string, v obj) {
	if f.extra {
		v["p"], v["newField"] = "abcdefghij", obj{"a": 1.5}
		b.Write(event("brandNewEvent", obj{"contentBlockIndex": 3}))
	}
	b.Write(event(kind, v))
}

func (f fake) callReply() []byte {
	if f.whole {
		return []byte(fmt.Sprintf(`{"metrics":{"latencyMs":7},"output":{"message":{"role":"assistant","content":[{"text":%q},{"toolUse":{"toolUseId":"tooluse_Ab-1_c","name":%q,"input":%s}}]}},"stopReason":"tool_use","usage":{"inputTokens":31,"outputTokens":12,"totalTokens":43}}`,
			llmtest.Before, llmtest.WireName, llmtest.Args))
	}
	var b bytes.Buffer
	f.event(&b, "messageStart", obj{"role": "assistant"})
	for _, s := range []string{llmtest.Before[:12], llmtest.Before[12:]} {
		f.event(&b, "contentBlockDelta", obj{"contentBlockIndex": 0, "delta": obj{"text": s}})
	}
	f.event(&b, "contentBlockStop", obj{"contentBlockIndex": 0})
	f.event(&b, "contentBlockStart", obj{"contentBlockIndex": 1, "start": obj{"toolUse": obj{"toolUseId": "tooluse_Ab-1_c", "name": llmtest.WireName}}})
	rest := []rune(llmtest.Args)
	for len(rest) > 0 {
		n := min(17, len(rest))
		f.event(&b, "contentBlockDelta", obj{"contentBlockIndex": 1, "delta": obj{"toolUse": obj{"input": string(rest[:n])}}})
		rest = rest[n:]
	}
	f.event(&b, "contentBlockStop", obj{"contentBlockIndex": 1})
	f.event(&b, "messageStop", obj{"stopReason": "tool_use"})
	f.event(&b, "metadata", obj{"usage": obj{"inputTokens": 31, "outputTokens": 12, "totalTokens": 43}, "metrics": obj{"latencyMs": 7}})
	return b.Bytes()
}

func (f fake) finalReply() []byte {
	if f.whole {
		return []byte(fmt.Sprintf(`{"output":{"message":{"role":"assistant","content":[{"text":%q}]}},"stopReason":"end_turn","usage":{"inputTokens":37,"outputTokens":9,"totalTokens":66,"cacheReadInputTokens":20,"cacheWriteInputTokens":0}}`, llmtest.Final))
	}
	var b bytes.Buffer
	f.event(&b, "messageStart", obj{"role": "assistant"})
	for _, s := range strings.SplitAfter(llmtest.Final, " ") {
		f.event(&b, "contentBlockDelta", obj{"contentBlockIndex": 0, "delta": obj{"text": s}})
	}
	f.event(&b, "contentBlockStop", obj{"contentBlockIndex": 0})
	f.event(&b, "messageStop", obj{"stopReason": "end_turn"})
	f.event(&b, "metadata", obj{"usage": obj{"inputTokens": 37, "outputTokens": 9, "totalTokens": 66, "cacheReadInputTokens": 20, "cacheWriteInputTokens": 0}, "metrics": obj{"latencyMs": 7}})
	return b.Bytes()
}

// complete returns the bytes up to the end of the messageStop frame.
func complete(reply []byte) int {
	at := 0
	for at < len(reply) {
		size := int(binary.BigEndian.Uint32(reply[at:]))
		isStop := bytes.Contains(reply[at:at+size], []byte("messageStop"))
		at += size
		if isStop {
			break
		}
	}
	return at
}
