package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// Limits of a manifest.
const (
	MaxFile        = 64 << 10 // bytes of a manifest file
	maxDescription = 1024     // bytes
	maxTitle       = 200      // bytes

	// DefaultTimeoutMS is used when timeout_ms is not given (seed 000: 30 s).
	DefaultTimeoutMS = 30_000
	// MaxTimeoutMS bounds timeout_ms.
	MaxTimeoutMS = 600_000
	// DefaultOutputBytes caps an output whose manifest names no cap (seed 000).
	DefaultOutputBytes = 200_000
	// MaxOutputBytes bounds resources.output_bytes.
	MaxOutputBytes = 2 << 20
)

// Manifest describes one skill. The zero value of a field means what its
// comment says; Parse and Validate put the defaults in, so that two manifests
// that mean the same have the same hash.
type Manifest struct {
	Name        string `json:"name"`        // family.verb: "file.write"
	Version     string `json:"version"`     // of the skill's author: "1.2.0"
	Kind        Kind   `json:"kind"`        // no default
	Description string `json:"description"` // what a model reads to choose it
	// Title is what a person reads in an approval: text with {argument},
	// {argument|lines} or {argument|bytes}.
	Title  string          `json:"title,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`  // JSON Schema of the arguments
	Output json.RawMessage `json:"output,omitempty"` // JSON Schema of the result
	Risk   Risk            `json:"action_risk"`
	Access Access          `json:"access"`
	// Target names the arguments that say what is acted on, as JSON pointers.
	Target      []string     `json:"target,omitempty"`
	Permissions []Permission `json:"permissions,omitempty"`
	Class       Class        `json:"effect_class"`
	ReadBack    ReadBack     `json:"read_back,omitempty"` // reconcilable only
	TimeoutMS   int          `json:"timeout_ms"`
	Resources   Resources    `json:"resources"`
	Secrets     []string     `json:"secrets,omitempty"` // names in the vault
	// OutputLabel is the integrity that the output enters with: outside, known
	// or house. The result's label is never above the call's.
	OutputLabel string `json:"output_label"`
	// Undoable says that the act can be taken back afterwards; one that cannot
	// waits out the seconds in which a button press may be taken back.
	Undoable bool `json:"undoable"`
	// Sensitive says that the output is for the requester and the agent only.
	Sensitive bool `json:"sensitive"`
	// Content is the digest of what stands behind the manifest: the text of an
	// instruction, a script. Loaders set it; a file cannot.
	Content string `json:"content,omitempty"`
}

// Resources is what one call is expected to take at most.
type Resources struct {
	// MoneyMicros is reserved from the run's budget before the call, in
	// micro-units of the account's currency.
	MoneyMicros int64 `json:"money_micros"`
	// OutputBytes caps the recorded output.
	OutputBytes int `json:"output_bytes"`
}

var (
	skillName   = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`)
	secretName  = regexp.MustCompile(`^[a-z0-9]+([._/-][a-z0-9]+)*$`)
	versionText = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,39}$`)
)

// Timeout returns the time one attempt may take.
func (m Manifest) Timeout() time.Duration { return time.Duration(m.TimeoutMS) * time.Millisecond }

// Integrity returns the integrity that the output enters with.
func (m Manifest) Integrity() event.Integrity {
	i, ok := event.ParseIntegrity(m.OutputLabel)
	if !ok {
		return event.Outside
	}
	return i
}

// normal fills the defaults and puts sets in order.
func (m *Manifest) normal() {
	if m.Class == "" {
		m.Class = ClassOnce
	}
	if m.TimeoutMS == 0 {
		m.TimeoutMS = DefaultTimeoutMS
	}
	if m.Resources.OutputBytes == 0 {
		m.Resources.OutputBytes = DefaultOutputBytes
	}
	if m.OutputLabel == "" {
		m.OutputLabel = event.Outside.String()
	}
	slices.Sort(m.Permissions)
	slices.Sort(m.Secrets)
}

// Validate fills the defaults of m and returns fault.Invalid, naming the field,
// for a manifest that breaks a rule.
func (m *Manifest) Validate() error {
	m.normal()
	bad := func(field, format string, args ...any) error {
		return fault.New(fault.Invalid, format, args...).On(field)
	}
	switch {
	case len(m.Name) > 64 || !skillName.MatchString(m.Name):
		return bad("name", "%q is not a skill name: lower-case letters and digits, parts joined by . - or _, at most 64", m.Name)
	case !versionText.MatchString(m.Version):
		return bad("version", "%q is not a version", m.Version)
	case !known(Kinds(), m.Kind):
		return bad("kind", "%q is not one of %s", m.Kind, list(Kinds()))
	case m.Description == "" || len(m.Description) > maxDescription || !utf8.ValidString(m.Description):
		return bad("description", "a description has 1 to %d bytes", maxDescription)
	case !known(Risks(), m.Risk):
		return bad("action_risk", "%q is not one of %s", m.Risk, list(Risks()))
	case !known(Accesses(), m.Access):
		return bad("access", "%q is not one of %s", m.Access, list(Accesses()))
	case !known(Classes(), m.Class):
		return bad("effect_class", "%q is not one of %s", m.Class, list(Classes()))
	case m.Class == ClassRead && m.Access != Read:
		return bad("effect_class", "class read needs access read, not %s: a write must not be repeated", m.Access)
	case m.Class == ClassReconcilable && !known(ReadBacks(), m.ReadBack):
		return bad("read_back", "class reconcilable needs one of %s", list(ReadBacks()))
	case m.Class != ClassReconcilable && m.ReadBack != "":
		return bad("read_back", "only class reconcilable has a read-back")
	case m.TimeoutMS < 1 || m.TimeoutMS > MaxTimeoutMS:
		return bad("timeout_ms", "%d is not between 1 and %d", m.TimeoutMS, MaxTimeoutMS)
	case m.Resources.OutputBytes < 16 || m.Resources.OutputBytes > MaxOutputBytes:
		return bad("resources.output_bytes", "%d is not between 16 and %d", m.Resources.OutputBytes, MaxOutputBytes)
	case m.Resources.MoneyMicros < 0 || m.Resources.MoneyMicros >= 1<<53:
		return bad("resources.money_micros", "%d is not an amount", m.Resources.MoneyMicros)
	case m.Access == Spend && m.Resources.MoneyMicros == 0:
		return bad("resources.money_micros", "a skill that spends names the most it may spend")
	case !slices.Contains([]string{"outside", "known", "house"}, m.OutputLabel):
		return bad("output_label", "%q is not one of outside, known, house", m.OutputLabel)
	}
	for i, p := range m.Permissions {
		if !known(Permissions(), p) || i > 0 && m.Permissions[i-1] == p {
			return bad("permissions", "%q is unknown or stands twice; known are %s", p, list(Permissions()))
		}
	}
	for i, s := range m.Secrets {
		if len(s) > 64 || !secretName.MatchString(s) || i > 0 && m.Secrets[i-1] == s {
			return bad("secrets", "%q is not a secret's name or stands twice", s)
		}
	}
	if m.Kind == Instruction {
		if m.Access != Read || m.Class != ClassRead || m.Risk != RiskNone || len(m.Target)+len(m.Secrets)+len(m.Permissions) > 0 || m.Input != nil || m.Output != nil {
			return bad("kind", "an instruction is only read: it has no arguments, secrets, permissions or risk of its own")
		}
		return nil
	}
	return m.validateCall()
}

// validateCall checks what only an executable skill has.
func (m *Manifest) validateCall() error {
	c, err := m.Contract()
	if err != nil {
		return err
	}
	for _, p := range m.Target {
		name, err := firstSegment(p)
		if err != nil {
			return fault.New(fault.Invalid, "%q is not a JSON pointer: %w", p, err).On("target")
		}
		if !c.has(name) {
			return fault.New(fault.Invalid, "%q points at no argument of the input schema", p).On("target")
		}
	}
	return m.validateTitle(c)
}

func list[T ~string](all []T) string {
	var b strings.Builder
	for i, v := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, string(v))
	}
	return b.String()
}
