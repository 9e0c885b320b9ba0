package llm

import (
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Prompt is a named text for the system role, with the blocks of data that it
// reads. It is numbered when it is saved and never changes after that.
type Prompt struct {
	Name   string       `json:"name"`
	Role   string       `json:"role,omitempty"` // of the model; "" where the caller decides
	System string       `json:"system"`
	Inputs []InputBlock `json:"inputs,omitempty"`
	Ask    string       `json:"ask,omitempty"` // what stands after the data, in the user's turn
	Output *Output      `json:"output,omitempty"`
}

// InputBlock is one block of data that a prompt reads.
type InputBlock struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"` // stands at the head of the block
	Type     InputType `json:"type"`
	Optional bool      `json:"optional,omitempty"`
	MaxBytes int       `json:"maxBytes"`
}

// InputType says what a block may hold.
type InputType string

// The types of input.
const (
	TextInput InputType = "text" // any text
	LineInput InputType = "line" // one line, without control characters
	JSONInput InputType = "json" // one JSON document
	IntInput  InputType = "int"  // a decimal integer
)

// Bounds of a prompt.
const (
	maxSystem    = 64 << 10
	maxInputs    = 32
	maxBlock     = 1 << 20
	defaultBlock = 32 << 10
)

var (
	promptName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,59}$`)
	inputName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
)

// Check refuses a prompt that cannot be used, naming the field.
func (p Prompt) Check() error {
	bad := func(field, format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).On(field)
	}
	plain := func(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
	switch {
	case !promptName.MatchString(p.Name):
		return bad("name", "%q is not a prompt's name", p.Name)
	case p.Role != "" && !roleName.MatchString(p.Role):
		return bad("role", "%q is not a role", p.Role)
	case strings.TrimSpace(p.System) == "" || len(p.System) > maxSystem || !plain(p.System):
		return bad("system", "want a text of at most %d bytes", maxSystem)
	case len(p.Ask) > maxSystem || !plain(p.Ask):
		return bad("ask", "want a text of at most %d bytes", maxSystem)
	case len(p.Inputs) > maxInputs:
		return bad("inputs", "at most %d", maxInputs)
	case p.Output != nil && (!inputName.MatchString(p.Output.Name) || !isObject(p.Output.Schema)):
		return bad("output", "want a name and a JSON object as schema")
	}
	seen := map[string]bool{}
	for i, in := range p.Inputs {
		at := fmt.Sprintf("inputs[%d]", i)
		switch {
		case seen[in.Name] || !inputName.MatchString(in.Name):
			return bad(at+".name", "%q is there twice or is no name", in.Name)
		case in.Title == "" || len(in.Title) > 200 || strings.ContainsFunc(in.Title, isControl) || !plain(in.Title):
			return bad(at+".title", "want one line")
		case in.MaxBytes < 1 || in.MaxBytes > maxBlock:
			return bad(at+".max_bytes", "want 1 to %d", maxBlock)
		}
		switch in.Type {
		case TextInput, LineInput, JSONInput, IntInput:
		default:
			return bad(at+".type", "want text, line, json or int")
		}
		seen[in.Name] = true
	}
	return nil
}

func isControl(r rune) bool {
	return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// Digest returns the digest of the whole prompt, in hex.
func (p Prompt) Digest() (string, error) {
	raw, err := canon.JSON(p)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "encode prompt "+p.Name)
	}
	sum := canon.Digest("witan/prompt/1", raw)
	return hex.EncodeToString(sum[:]), nil
}

// Instruction returns the system text. A Prompt is a person's or the program's
// text: it comes from a file of ours or from Prompts.Save.
func (p Prompt) Instruction() Instruction {
	return Instruction{text: strings.TrimSpace(p.System)}
}

// promptHead is the head of a prompt file.
type promptHead struct {
	Role   string `yaml:"role"`
	Inputs []struct {
		Name     string    `yaml:"name"`
		Title    string    `yaml:"title"`
		Type     InputType `yaml:"type"`
		Optional bool      `yaml:"optional"`
		MaxBytes int       `yaml:"max_bytes"`
	} `yaml:"inputs"`
	Ask    string `yaml:"ask"`
	Output *struct {
		Name   string `yaml:"name"`
		Schema string `yaml:"schema"` // JSON text
	} `yaml:"output"`
}

// ParsePrompt reads a prompt file: Markdown, the system text, which may stand
// below a YAML head between two lines of "---". The prompt bears the file's name
// without its extension. Unknown keys are errors.
func ParsePrompt(file string, text []byte) (Prompt, error) {
	p := Prompt{Name: strings.TrimSuffix(path.Base(file), path.Ext(file))}
	body := strings.ReplaceAll(string(text), "\r\n", "\n")
	if rest, ok := strings.CutPrefix(body, "---\n"); ok {
		head, below, ok := strings.Cut(rest, "\n---\n")
		if !ok {
			return p, fault.New(fault.Invalid, "the head has no end").On(file)
		}
		var h promptHead
		if err := yaml.UnmarshalWithOptions([]byte(head), &h, yaml.Strict()); err != nil {
			return p, fault.New(fault.Invalid, "read the head: %s", yaml.FormatError(err, false, false)).On(file)
		}
		p.Role, p.Ask, body = h.Role, strings.TrimSpace(h.Ask), below
		for _, in := range h.Inputs {
			b := InputBlock{Name: in.Name, Title: in.Title, Type: in.Type, Optional: in.Optional, MaxBytes: in.MaxBytes}
			if b.Title == "" {
				b.Title = b.Name
			}
			if b.Type == "" {
				b.Type = TextInput
			}
			if b.MaxBytes == 0 {
				b.MaxBytes = defaultBlock
			}
			p.Inputs = append(p.Inputs, b)
		}
		if h.Output != nil {
			p.Output = &Output{Name: h.Output.Name, Schema: strings.TrimSpace(h.Output.Schema)}
		}
	}
	p.System = strings.TrimSpace(body)
	return p, p.Check()
}
