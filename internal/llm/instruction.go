package llm

// Instruction is a text that may stand in the system role. It can be made from a
// constant of this program or by rendering a Prompt, and in no other way; it has
// no decoder, so that stored or received JSON cannot become one (INV-11).
type Instruction struct{ text string }

// constant is unexported, so that another package can only pass a constant
// expression as one: the compiler refuses a string that exists at run time only.
type constant string

// Instruct makes an Instruction from a constant of the program.
func Instruct(text constant) Instruction { return Instruction{text: string(text)} }

// String returns the text.
func (i Instruction) String() string { return i.text }

// IsZero reports whether there is no text.
func (i Instruction) IsZero() bool { return i.text == "" }

// MarshalText implements encoding.TextMarshaler, for records and digests.
func (i Instruction) MarshalText() ([]byte, error) { return []byte(i.text), nil }
